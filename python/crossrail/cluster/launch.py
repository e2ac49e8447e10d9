"""Starting a job on a cluster: the words and variables that make each MPI's own launcher use its hosts over TCP."""

import os
import re
import subprocess
from dataclasses import dataclass, field, replace
from typing import Dict, List, Optional

from crossrail.cluster.hosts import Cluster
from crossrail.errors import CliError
from crossrail.job_folder import NAMING_HOSTS
from crossrail.launchers import Job, command_line
from crossrail.supervise import supervise

INTERFACE = "eth0"
OTHER_NETWORKS = "^openib,ofi,uct,ugni,usnic,portals4"  # shared memory and TCP stay
MAPPING = ("--map-by", "-map-by", "--rankfile", "-rankfile", "--rank-by", "-npernode", "--npernode", "-N")
BINDING = ("--bind-to", "-bind-to", "--bind-to-core", "--cpu-set")


@dataclass
class Start:
    """What starts a job: the command, and variables of the launcher beside this process's own."""

    words: List[str]
    environment: Dict[str, str] = field(default_factory=dict)


def major_version(launcher: str) -> int:
    """4 for 'mpirun (Open MPI) 4.1.4'; 4 as well where nothing is said."""
    done = subprocess.run([launcher, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    match = re.search(r"(?:Open MPI\)|OpenRTE\)?|prterun.*?)\s*(\d+)\.", done.stdout.decode(errors="replace"))
    return int(match[1]) if match else 4


def parameters(option: str, values: Dict[str, object], given: List[str]) -> List[str]:
    """`--mca NAME VALUE` for each parameter that the user has not given."""
    return [word for name, value in values.items() if name not in given for word in (option, name, str(value))]


def openmpi_hosts(cluster: Cluster, old: bool) -> str:
    """The hosts with the number of their ranks. Open MPI 5.0.7, Debian 13's, takes no number for its own host where that has an address for its name."""
    first, *others = cluster.hosts
    named = [f"{first.address if old else first.name}:{first.ranks}"]
    return ",".join(named + [f"{host.address}:{host.ranks}" for host in others])


def openmpi_words(cluster: Cluster, given: List[str], major: int) -> List[str]:
    """Open MPI 4 (ORTE) and 5 (PRRTE): the agent for ssh, hosts, TCP on the cluster's interface, no binding."""
    old = major < 5
    starter = "rsh" if old else "ssh"
    runtime: Dict[str, object] = {"plm": starter, f"plm_{starter}_agent": cluster.agent, f"plm_{starter}_no_tree_spawn": 1,
                                  "oob_tcp_if_include" if old else "prte_if_include": INTERFACE,
                                  "orte_tmpdir_base" if old else "prte_tmpdir_base": cluster.folder}
    library: Dict[str, object] = {"pml": "ob1", "btl": OTHER_NETWORKS, "btl_tcp_if_include": INTERFACE,
                                  "mpi_yield_when_idle": int(cluster.crowded)}
    words = parameters("--mca" if old else "--prtemca", runtime, given) + parameters("--mca", library, given)
    words += ["--host", openmpi_hosts(cluster, old)]
    if not any(word in MAPPING for word in given):
        words += ["--map-by", "slot"]
    if not any(word in BINDING for word in given):
        words += ["--bind-to", "none"]
    return words


def hydra_words(cluster: Cluster) -> List[str]:
    """MPICH's Hydra and Intel MPI: the agent for ssh, and the hosts in a file, as Intel deals ranks of a list in turn."""
    return ["-launcher", "ssh", "-launcher-exec", str(cluster.agent), "-machinefile", str(cluster.host_file), "-iface", INTERFACE]


def hydra_environment() -> Dict[str, str]:
    """TCP for the libraries below MPICH and Intel MPI, which would find the same machine on both sides."""
    wanted = {"FI_PROVIDER": "tcp", "FI_TCP_IFACE": INTERFACE, "UCX_TLS": "tcp,self,sm", "UCX_NET_DEVICES": INTERFACE,
              "I_MPI_FABRICS": "shm:ofi", "I_MPI_PIN": "0"}
    return {name: value for name, value in wanted.items() if name not in os.environ}


def cluster_start(cluster: Cluster, job: Job) -> Start:
    """The command and variables that run `job` on the hosts of `cluster`; its number of ranks is the cluster's.

    Raises CliError for a launcher that brings its own machines (srun), or words that name hosts.
    """
    naming = [word for word in job.launcher_words if word.partition("=")[0] in NAMING_HOSTS]
    if naming:
        raise CliError(f"'{naming[0]}' names hosts, but a cluster on one machine has its own; leave it out.")
    environment: Dict[str, str] = {}
    if job.launcher.family == "openmpi":
        words = openmpi_words(cluster, job.launcher_words, major_version(job.launcher.path))
    elif job.launcher.family == "hydra":
        words, environment = hydra_words(cluster), hydra_environment()
    else:
        raise CliError(f"'{job.launcher.path}' starts ranks on machines of its own; a cluster on one machine needs mpirun.")
    placed = replace(job, ranks=cluster.ranks, launcher_words=[*words, *job.launcher_words])
    return Start([*cluster.entering(cluster.hosts[0]), *command_line(placed)], environment)


def run_on(cluster: Cluster, job: Job, environment: Optional[Dict[str, str]] = None, output=None) -> int:
    """Runs `job` on the cluster and returns the launcher's exit code; `output` as in `supervise`.

    A signal goes to the launcher; what has not ended some seconds later is killed on all hosts.
    """
    start = cluster_start(cluster, job)
    return supervise(start.words, {**start.environment, **(environment or {})}, output, last_resort=cluster.end_processes)
