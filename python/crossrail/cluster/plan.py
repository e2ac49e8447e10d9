"""What a cluster on one machine looks like: hosts with names, addresses, ranks and cores. Nothing is started here."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional, Sequence, Tuple, TypeVar

from crossrail.errors import CliError

Item = TypeVar("Item")
MOST_HOSTS = 250
SUBNET = "10.83.0"
UNIT_BITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9, "tbit": 10**12}


@dataclass
class Host:
    """One host: its number from 1, its name (also that of its network namespace), its address, ranks and cores; `gpus` as CUDA_VISIBLE_DEVICES
    names them, where the machine has enough of them for all hosts."""

    number: int
    name: str
    address: str
    ranks: int
    cores: List[int]
    gpus: Tuple[str, ...] = ()


def distribute(ranks: int, hosts: int) -> List[int]:
    """Ranks of each host, in blocks as even as possible: 7 on 3 -> [3, 2, 2]. Raises CliError when a host stays empty."""
    if not 1 <= hosts <= MOST_HOSTS:
        raise CliError(f"A cluster has 1 to {MOST_HOSTS} hosts, not {hosts}.")
    if ranks < hosts:
        raise CliError(f"{ranks} ranks leave some of {hosts} hosts empty: every host needs one.")
    return [ranks // hosts + (host < ranks % hosts) for host in range(hosts)]


def parse_per_host(text: str) -> List[int]:
    """'3,1,2' -> [3, 1, 2]. Raises CliError for anything that is no list of positive numbers."""
    if not re.fullmatch(r"[1-9]\d{0,5}(,[1-9]\d{0,5})*", text):
        raise CliError(f"'{text}' is no list of ranks per host such as 3,1,2.")
    ranks = [int(word) for word in text.split(",")]
    distribute(len(ranks), len(ranks))  # the limit on hosts
    return ranks


def resolve_ranks(hosts: Optional[int], ranks: Optional[int], per_host: Optional[str], cores: int) -> List[int]:
    """Ranks of each host from what the user said; without a number, one rank a core. Raises CliError when they disagree."""
    if per_host:
        distributed = parse_per_host(per_host)
        if hosts not in (None, len(distributed)) or ranks not in (None, sum(distributed)):
            raise CliError(f"--per-host {per_host} means {len(distributed)} hosts and {sum(distributed)} ranks; -H or -n says otherwise.")
        return distributed
    hosts = 2 if hosts is None else hosts
    return distribute(max(cores, hosts) if ranks is None else ranks, hosts)


def blocks(cores: List[Item], sizes: List[int]) -> List[List[Item]]:
    """`cores` cut into consecutive blocks of these sizes."""
    starts = [sum(sizes[:index]) for index in range(len(sizes))]
    return [cores[start:start + size] for start, size in zip(starts, sizes)]


def distribute_cores(cores: List[int], ranks: List[int]) -> List[List[int]]:
    """The cores of each host, for hosts of so many ranks.

    Evenly, if that gives every rank a core; else, where there are enough in all, each host one for every rank and
    the rest in turn; else evenly; with fewer cores than hosts, several hosts share a core.
    """
    hosts = len(ranks)
    if len(cores) < hosts:
        return [[cores[host % len(cores)]] for host in range(hosts)]
    even = distribute(len(cores), hosts)
    spare = len(cores) - sum(ranks)
    if spare >= 0 and any(have < need for have, need in zip(even, ranks)):
        return blocks(cores, [need + spare // hosts + (host < spare % hosts) for host, need in enumerate(ranks)])
    return blocks(cores, even)


def read_number(path: Path) -> int:
    """The number in a file of sysfs; 0 where there is none."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return 0


def usable_cores() -> List[int]:
    """The cores this process may use, neighbours in the machine side by side: threads of a core are never far apart."""
    def place(core: int) -> List[int]:
        """Where a core sits: package, NUMA domain, core, thread."""
        folder = Path(f"/sys/devices/system/cpu/cpu{core}")
        domain = next((int(entry.name[4:]) for entry in folder.glob("node[0-9]*")), 0)
        return [read_number(folder / "topology/physical_package_id"), domain, read_number(folder / "topology/core_id"), core]

    return sorted(os.sched_getaffinity(0), key=place)


def visible_gpus() -> List[str]:
    """NVIDIA's GPUs, as CUDA_VISIBLE_DEVICES names them; what it says where it is set."""
    said = os.environ.get("CUDA_VISIBLE_DEVICES")
    if said is not None:
        return [word.strip() for word in said.split(",") if word.strip()]
    return [str(number) for number, _ in enumerate(Path("/dev").glob("nvidia[0-9]*"))]


def lay_out(name: str, ranks: List[int], cores: List[int], gpus: Sequence[str] = ()) -> List[Host]:
    """The hosts NAME-1, NAME-2, … with their addresses and cores, and GPUs where there is one for each host at least."""
    distributed = distribute_cores(cores, ranks)
    dealt = blocks(list(gpus), distribute(len(gpus), len(ranks))) if len(gpus) >= len(ranks) else [[] for _ in ranks]
    return [Host(index + 1, f"{name}-{index + 1}", f"{SUBNET}.{index + 1}", ranks[index], distributed[index], tuple(dealt[index]))
            for index in range(len(ranks))]


def crowded(hosts: List[Host]) -> bool:
    """Whether ranks have to share cores: on their own host, or because hosts share cores."""
    cores = {core for host in hosts for core in host.cores}
    return any(host.ranks > len(host.cores) for host in hosts) or sum(host.ranks for host in hosts) > len(cores)


def parse_bandwidth(text: str) -> int:
    """Bits per second: '10gbit' -> 10 000 000 000. Raises CliError for anything else than a number and a unit."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgt]?bit)", text.strip().lower())
    bits = int(float(match[1]) * UNIT_BITS[match[2]]) if match else 0
    if bits < 1000:
        raise CliError(f"'{text}' is no bandwidth such as 10gbit or 800mbit.")
    return bits
