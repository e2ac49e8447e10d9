"""Peers: how other MPI libraries choose their algorithms of alltoall, by the number of ranks and the size of a block, as they have published it.

The program simulates the choice of such a library with crossrail's own code for each algorithm. It does not simulate the library's code.
"""

from typing import Dict, List, Optional, Tuple

from crossrail import core
from crossrail.algorithms import split_spec
from crossrail.errors import CliError

Choices = List[Tuple[Optional[int], str]]  # These are the largest block, or None for any, and the algorithm; the first one that takes a size holds.

LINEAR, PAIRWISE, BRUCK = "linear", "pairwise", "bruck"
KIB, MIB = 1 << 10, 1 << 20
MOST_AT_ONCE = 16_000_000  # So many messages at the same time need some 5 GiB of memory.

# The first row holds whose limit is more than the number of ranks. Its algorithms follow, each with the smallest block that it does not take any more;
# the last one takes all above. The algorithms linear_sync and two_proc of Open MPI post all messages at once here, so they are linear, too.
OPENMPI5: List[Tuple[float, List[Tuple[float, str]]]] = [
    (8, [(512 * KIB, LINEAR), (MIB, PAIRWISE), (0, LINEAR)]),
    (16, [(0, LINEAR)]),
    (32, [(4, LINEAR), (512, BRUCK), (0, LINEAR)]),
    (64, [(512, BRUCK), (0, LINEAR)]),
    (256, [(KIB, BRUCK), (256 * KIB, LINEAR), (0, PAIRWISE)]),
    (512, [(KIB, BRUCK), (32 * KIB, LINEAR), (0, PAIRWISE)]),
    (1024, [(512, BRUCK), (256 * KIB, LINEAR), (0, PAIRWISE)]),
    (2048, [(512, BRUCK), (0, LINEAR)]),
    (4096, [(KIB, BRUCK), (0, LINEAR)]),
    (float("inf"), [(2 * KIB, BRUCK), (0, LINEAR)]),
]
MPICH_FEWEST_FOR_BRUCK, MPICH_SHORT, MPICH_MEDIUM, MPICH_THROTTLE = 8, 256, 32 * KIB, 32  # The settings of MPICH have these presets.

PEERS: Dict[str, str] = {"openmpi5": "Open MPI 5.0", "mpich": "MPICH"}
COLLECTIVES = ("alltoall",)  # Choices are known of these.
ROWS = {"openmpi5": [LINEAR, PAIRWISE, BRUCK], "mpich": [BRUCK, "scatter_destination", PAIRWISE]}


def openmpi5(ranks: int) -> Choices:
    """Returns the choices of Open MPI 5.0, by the fixed decisions of its component coll/tuned."""
    row = next(row for most, row in OPENMPI5 if ranks < most)
    return [(int(limit) - 1 if limit else None, algorithm) for limit, algorithm in row]


def mpich(ranks: int) -> Choices:
    """Returns the choices of MPICH with the presets of its settings."""
    short: Choices = [(MPICH_SHORT, BRUCK)] if ranks >= MPICH_FEWEST_FOR_BRUCK else []
    return [*short, (MPICH_MEDIUM, f"scatter_destination throttle={MPICH_THROTTLE}"), (None, PAIRWISE)]


def choices_of(name: str, ranks: int) -> Choices:
    """Returns what a contender runs: a peer's choices, or the algorithm itself for all sizes."""
    return {"openmpi5": openmpi5, "mpich": mpich}[name](ranks) if name in PEERS else [(None, name)]


def check_peer(collective: str, name: str) -> None:
    """Raises CliError if the peer's choice is not known for this collective, or if crossrail was built without an algorithm that it needs."""
    if collective not in COLLECTIVES:
        raise CliError(f"The choice of {name} is known for {', '.join(COLLECTIVES)}, not for {collective}.")
    missing = [row for row in ROWS[name] if row not in core.algorithm_names(collective)]
    if missing:
        raise CliError(f"{name} chooses the algorithm {missing[0]}, which crossrail has only if it is built with CROSSRAIL_PAPER_ROWS=ON.")


def peers_for(collective: str) -> List[str]:
    """Returns the peers whose choice can be simulated here."""
    names = core.algorithm_names(collective)
    return [name for name in PEERS if collective in COLLECTIVES and all(row in names for row in ROWS[name])]


def at_once(algorithm: str, ranks: int) -> int:
    """Returns how many messages all ranks together have posted at the same time, or 0 if the algorithm is none of those that post many."""
    name, given = split_spec(algorithm)
    if name == LINEAR:
        return ranks * ranks
    return ranks * min(given["throttle"], ranks) if "throttle" in given else 0


def refusal(name: str, size: int, ranks: int) -> str:
    """Returns why a contender is not simulated at a size: it would need too much memory. It is empty if the contender is simulated."""
    algorithm = next((algorithm for up_to, algorithm in choices_of(name, ranks) if up_to is None or size <= up_to), "auto")
    posted = at_once(algorithm, ranks)
    return (f"{algorithm} posts {posted / 1e6:.0f} million messages at once on {ranks} ranks, and the simulation takes {MOST_AT_ONCE // 1_000_000} million at most"
            if posted > MOST_AT_ONCE else "")


def contender_lines(name: str, ranks: int) -> List[str]:
    """Returns the lines of the program's input for a contender. They end before a choice that is refused; in all tables here, such a choice is the last one."""
    if name not in PEERS:
        return [f"algorithm {name}"] if at_once(name, ranks) <= MOST_AT_ONCE else []
    lines = []
    for up_to, algorithm in choices_of(name, ranks):
        if at_once(algorithm, ranks) > MOST_AT_ONCE:
            break
        lines.append(f"choice {name} {'*' if up_to is None else up_to} {algorithm}")
    return lines


def peer_notes(names: List[str]) -> List[str]:
    """Returns what a reader must know about the peers among the contenders."""
    shown = [f"{name} ({PEERS[name]})" for name in names if name in PEERS]
    return [f"{' and '.join(shown)} stand for the choice of algorithms that these libraries have published. crossrail's own code for each algorithm runs over the same "
            "simulated network; the libraries' code does not run. Intel MPI, HPC-X and MVAPICH2-X have not published their choice."] if shown else []
