"""A cluster on one machine: hosts as namespaces with a name, cores, an address and a shared memory of their own, and a part of the GPUs.

    with Cluster([2, 2]) as cluster:
        code = run_on(cluster, job)          # crossrail.cluster.launch

Ranks of one host share memory; between hosts there is only TCP.
"""

import itertools
import os
import shlex
import shutil
import signal
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import Dict, Iterator, List, Optional

from crossrail.cluster import network
from crossrail.cluster.plan import Host, crowded, lay_out, parse_bandwidth, usable_cores, visible_gpus
from crossrail.errors import CliError
from crossrail.supervise import leave_by_exception

# In the host: its own /dev/shm and name, then the command on its cores. With the IPC namespace, UCX takes the hosts
# for different machines; without it, it reads memory across them.
ENTER = 'mount -t tmpfs tmpfs /dev/shm; hostname "$0" && exec taskset -c "$@"'

AGENT = """#!/bin/sh
# In place of ssh: AGENT [-options] HOST COMMAND... runs the command on a host of this cluster, as a remote shell would.
while [ "${1#-}" != "$1" ]; do shift; done
case ${1##*@} in
%s
*) echo "crossrail: the cluster has no host '$1'." >&2; exit 255 ;;
esac
shift
exec nsenter --net=%s/"$name" unshare --uts --mount --ipc sh -c %s "$name" "$cores" env $own sh -c "$*"
"""

counter = itertools.count()


def cores_text(host: Host) -> str:
    """The host's cores as taskset reads them: 0,1,2."""
    return ",".join(str(core) for core in host.cores)


def own_variables(host: Host) -> List[str]:
    """NAME=VALUE of what processes on the host find in their environment: its GPUs."""
    return [f"CUDA_VISIBLE_DEVICES={','.join(host.gpus)}"] if host.gpus else []


def agent_text(hosts: List[Host]) -> str:
    """The script that stands for ssh."""
    cases = [f"{host.address}|{host.name}) name={host.name} cores={cores_text(host)} own={shlex.quote(' '.join(own_variables(host)))} ;;" for host in hosts]
    return AGENT % ("\n".join(cases), network.NAMESPACES, shlex.quote(ENTER))


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Signals that would end this process wait until the block is left."""
    numbers = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Cluster:
    """Hosts of `ranks[i]` ranks each, alive inside a `with`; raises CliError where this machine cannot have them.

    `bandwidth` (such as 10gbit) limits what each host sends and what it receives. While the cluster lives, SIGTERM
    and SIGHUP end this process by SystemExit.
    """

    def __init__(self, ranks: List[int], bandwidth: Optional[str] = None) -> None:
        self.bits = parse_bandwidth(bandwidth) if bandwidth else None
        self.name = f"crossrail-{os.getpid()}-{network.start_of(os.getpid())}-{next(counter)}"
        self.switch = f"{self.name}-switch"
        self.hosts = lay_out(self.name, ranks, usable_cores(), visible_gpus())
        self.folder: Optional[Path] = None
        self.handlers: Dict[int, object] = {}

    @property
    def ranks(self) -> int:
        """Ranks of all hosts."""
        return sum(host.ranks for host in self.hosts)

    @property
    def crowded(self) -> bool:
        """Whether ranks share cores."""
        return crowded(self.hosts)

    def file(self, name: str) -> Path:
        """A file of the cluster; raises CliError outside the `with`."""
        if not self.folder:
            raise CliError("The cluster is not started: its hosts live inside 'with Cluster(...)'.")
        return self.folder / name

    @property
    def agent(self) -> Path:
        """The script that takes the place of ssh."""
        return self.file("agent")

    @property
    def host_file(self) -> Path:
        """Lines ADDRESS:RANKS."""
        return self.file("hosts")

    @property
    def names(self) -> List[str]:
        """Its namespaces."""
        return [*(host.name for host in self.hosts), self.switch]

    def entering(self, host: Host) -> List[str]:
        """The words to put before a command that is to run on a host."""
        own = own_variables(host)
        return ["nsenter", f"--net={network.NAMESPACES / host.name}", "unshare", "--uts", "--mount", "--ipc",
                "sh", "-c", ENTER, host.name, cores_text(host), *(["env", *own] if own else [])]

    def __enter__(self) -> "Cluster":
        network.require(bandwidth=self.bits is not None)
        if threading.current_thread() is threading.main_thread():
            self.handlers = {number: signal.signal(number, leave_by_exception) for number in (signal.SIGTERM, signal.SIGHUP)}
        try:
            self.start()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_problem) -> None:
        self.end()

    def start(self) -> None:
        """Removes what killed runs left, then makes the network and the agent."""
        remove_stale()
        # The folder tells its owner as the namespaces do, so that what a killed run leaves can be found.
        self.folder = Path(tempfile.gettempdir()) / self.name
        self.folder.mkdir(mode=0o700)
        self.agent.write_text(agent_text(self.hosts))
        self.agent.chmod(0o700)
        self.host_file.write_text("".join(f"{host.address}:{host.ranks}\n" for host in self.hosts))
        network.build(self.switch, self.hosts)
        if self.bits is not None:
            network.limit(self.switch, self.hosts, self.bits)

    def end_processes(self) -> None:
        """Ends all that runs on the hosts."""
        network.end_inhabitants(self.names)

    def end(self) -> None:
        """Removes everything."""
        with uninterrupted():
            network.wait_empty(self.names, 1.0)  # daemons of the launcher are on their way out
            network.remove(self.names)
            if self.folder:
                shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = None
            for number, handler in self.handlers.items():
                signal.signal(number, handler)
            self.handlers = {}


def remove_stale() -> None:
    """Removes the clusters of runs that were killed; those of living runs stay."""
    names = network.stale()
    if names:
        network.remove(names)
    for folder in Path(tempfile.gettempdir()).glob("crossrail-*-*-*"):
        match = network.NAME.match(f"{folder.name}-1")
        if match and network.start_of(int(match[1])) != match[2]:
            shutil.rmtree(folder, ignore_errors=True)
