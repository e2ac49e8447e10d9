"""The network of a cluster: namespaces, a bridge, a veth for each host, by `ip` and `tc` of iproute2.

The bridge has a namespace of its own, so that nothing appears in the machine's own network: no interface, no
address, no rule. All is gone with the namespaces.
"""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Dict, List, Set

from crossrail.cluster.plan import Host
from crossrail.errors import CliError

NAMESPACES = Path("/var/run/netns")  # where `ip` keeps them
NAME = re.compile(r"crossrail-(\d+)-(\d+)-\d+(-\d+|-switch)$")


def run_tool(words: List[str], lines: str = "") -> None:
    """Runs ip or tc with these lines as its input; raises CliError with what it said when it fails."""
    done = subprocess.run(words, input=lines, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip() or f"it failed with code {done.returncode}").splitlines()[0].rstrip(".")
        raise CliError(f"The cluster's network cannot be made: '{' '.join(words)}' says: {said}.")


def batch(namespace: str, lines: List[str]) -> None:
    """These lines of ip in a namespace ('' for this one)."""
    run_tool(["ip", *(["-n", namespace] if namespace else []), "-batch", "-"], "\n".join(lines) + "\n")


def require(bandwidth: bool) -> None:
    """Raises CliError where this machine or this user cannot have a cluster."""
    tools = {"ip": "iproute2", "unshare": "util-linux", "nsenter": "util-linux", "taskset": "util-linux",
             "hostname": "hostname", "mount": "mount", **({"tc": "iproute2"} if bandwidth else {})}
    for tool, package in tools.items():
        if not shutil.which(tool):
            raise CliError(f"A cluster needs the command '{tool}' (Debian and Ubuntu: apt install {package}); it is not on PATH.")
    if os.geteuid() != 0:
        raise CliError("A cluster of network namespaces needs root: start crossrail with sudo.")
    trial = subprocess.run(["unshare", "--net", "--uts", "--mount", "--ipc", "true"], stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, text=True, check=False)
    if trial.returncode != 0:
        raise CliError("This machine allows no namespaces, which a cluster needs (a container must be started with "
                      f"CAP_SYS_ADMIN and CAP_NET_ADMIN): {trial.stderr.strip().rstrip('.')}.")


def build(switch: str, hosts: List[Host]) -> None:
    """Namespaces, bridge, veths and addresses; raises CliError when the kernel or `ip` refuses."""
    batch("", [f"netns add {name}" for name in [switch, *(host.name for host in hosts)]])
    lines = ["link add name bridge0 type bridge", "link set bridge0 up"]
    for host in hosts:
        lines += [f"link add port{host.number} type veth peer name eth0 netns {host.name}",
                  f"link set port{host.number} master bridge0 up"]
    batch(switch, lines)
    for host in hosts:
        batch(host.name, ["link set lo up", f"address add {host.address}/24 dev eth0", "link set eth0 up"])


def limit(switch: str, hosts: List[Host], bits: int) -> None:
    """Every host sends and receives at most `bits` a second; raises CliError when the kernel has no tbf."""
    burst = max(65536 * 2, bits // 8 // 1000)  # two full packets of the veth, or what passes in a millisecond
    shape = ["root", "tbf", "rate", f"{bits}bit", "burst", str(burst), "latency", "20ms"]
    for host in hosts:
        run_tool(["tc", "-n", host.name, "qdisc", "add", "dev", "eth0", *shape])
        run_tool(["tc", "-n", switch, "qdisc", "add", "dev", f"port{host.number}", *shape])


def namespaces() -> Dict[str, re.Match]:
    """The namespaces of all clusters on this machine, with the owner's number and start in their names."""
    names = [path.name for path in NAMESPACES.iterdir()] if NAMESPACES.is_dir() else []
    return {name: match for name, match in ((name, NAME.match(name)) for name in names) if match}


def start_of(process: int) -> str:
    """When a process started, in ticks since boot; '' when it does not live. Numbers are used again, starts are not."""
    try:
        words = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return ""
    return "" if words[0] in "ZX" else words[19]  # dead, and not yet collected by its parent


def stale() -> List[str]:
    """Namespaces whose owner lives no more."""
    return [name for name, match in namespaces().items() if start_of(int(match[1])) != match[2]]


def inhabitants(names: List[str]) -> Set[int]:
    """The processes in these namespaces."""
    spaces = set()
    for name in names:
        try:
            spaces.add((NAMESPACES / name).stat().st_ino)
        except OSError:
            pass
    found = set()
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and (folder / "ns/net").stat().st_ino in spaces:
                found.add(int(folder.name))
        except OSError:
            pass
    return found - {os.getpid()}


def wait_empty(names: List[str], seconds: float) -> bool:
    """Whether these namespaces are empty within so many seconds."""
    end = time.monotonic() + seconds
    while inhabitants(names):
        if time.monotonic() >= end:
            return False
        time.sleep(0.02)
    return True


def end_inhabitants(names: List[str]) -> None:
    """Ends every process in these namespaces: politely, then not."""
    for number, seconds in ((signal.SIGTERM, 1.0), (signal.SIGKILL, 5.0)):
        for process in inhabitants(names):
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass
        if wait_empty(names, seconds):
            return


def remove(names: List[str]) -> None:
    """Deletes these namespaces and all that is in them. Never raises: it also runs after failures."""
    end_inhabitants(names)
    for name in names:
        if (NAMESPACES / name).exists():
            subprocess.run(["ip", "netns", "delete", name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
