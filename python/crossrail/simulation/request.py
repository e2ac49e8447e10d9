"""A request says what to simulate. It is built once and never changed."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional, Tuple

from crossrail.algorithms import check_spec, parse_spec
from crossrail.collectives import any_of
from crossrail.errors import CliError, did_you_mean
from crossrail.simulation.machine_file import Machine
from crossrail.simulation.machine_keys import BEST, KINDS, MOST_NODES, MOST_RANKS_OF_A_NODE
from crossrail.simulation.peers import PEERS, check_peer
from crossrail.sizes import parse_numbers, parse_ranges

COLLECTIVES = ("alltoall", "alltoallv", "allreduce", "allgather", "reduce_scatter_block")
BESIDE_ROWS = ("auto",)  # These are no rows of the catalogue, and the program knows them.
MOST_RANKS = 1 << 14
PRESET_SIZES = "8-1K"
PRESET_NODES = (2, 4, 8, 16)
STATED, FAVOURABLE, UNFAVOURABLE = "stated", "favourable", "unfavourable"
PLACEMENTS = ("blocks", "cyclic", "random")


@dataclass(frozen=True)
class Options:
    """Says how to simulate.

    `calls` are timed for each size. Blocks up to `check_up_to` bytes are moved and compared. `placement` is in the words of the program, and so are
    `late` (a rank and its microseconds) and `settings` (NAME=VALUE). `seconds` is the time for everything.
    """

    calls: int = 2
    check_up_to: int = 64
    placement: str = "blocks"
    tuning: Optional[Path] = None
    late: Optional[str] = None
    settings: Tuple[str, ...] = ()
    seconds: Optional[float] = None


@dataclass(frozen=True)
class Request:
    """Says what to simulate: a collective on a machine with these numbers of nodes, by these algorithms, of these sizes in bytes."""

    collective: str
    machine: Machine
    nodes: Tuple[int, ...]
    ranks_per_node: int
    algorithms: Tuple[str, ...]
    sizes: Tuple[int, ...]
    kind: str
    options: Options = Options()

    @property
    def cases(self) -> List[str]:
        """Returns the cases: both ends of the machine's ranges, or what is stated if there are no ranges."""
        return [FAVOURABLE, UNFAVOURABLE] if self.machine.has_ranges else [STATED]

    @property
    def kinds(self) -> List[str]:
        """Returns the kinds of transport of which the fastest counts."""
        return list(KINDS) if self.kind == BEST else [self.kind]


def parse_nodes(text: str) -> Tuple[int, ...]:
    """Returns the numbers of nodes, each once, such as '2,4,8'. Raises CliError for anything else."""
    counts = tuple(dict.fromkeys(parse_numbers(text, "2,4,8,16")))
    if min(counts) < 1 or max(counts) > MOST_NODES:
        raise CliError(f"--nodes takes numbers from 1 to {MOST_NODES}, not '{text}'.")
    return counts


def parse_specs(collective: str, text: str) -> Tuple[str, ...]:
    """Returns the algorithms, each once. Raises CliError for one that does not exist, or a parameter that it does not have."""
    specs = [parse_spec(word) for word in text.split(",") if word.strip()]
    if not specs:
        raise CliError("No algorithm is named: --algorithms auto,pairwise.")
    for spec in specs:
        if spec in PEERS:
            check_peer(collective, spec)
        elif spec not in BESIDE_ROWS:
            check_spec(collective, spec)
    return tuple(dict.fromkeys(specs))


def parse_placement(text: str) -> str:
    """Returns the placement in the words of the program: 'random:7' becomes 'random 7'. Raises CliError for a placement that does not exist."""
    name, _, seed = text.partition(":")
    if name not in PLACEMENTS or (name != "random" and ":" in text) or (":" in text and not re.fullmatch(r"\d{1,9}", seed)):
        raise CliError(f"The placement is blocks, cyclic, random or random:SEED, not '{text}'.{did_you_mean(name, PLACEMENTS)}")
    return f"random {seed or 1}" if name == "random" else name


def parse_late(text: Optional[str], ranks: int) -> Optional[str]:
    """Returns '3 500' for '3:500', the rank that is late and its microseconds. Raises CliError for anything else, or a rank that there is not."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,9}):(\d{1,9}(?:\.\d{1,9})?)", text)
    if not found:
        raise CliError(f"'{text}' is no late rank: write the rank and its microseconds, --late 0:500.")
    if int(found.group(1)) >= ranks:
        raise CliError(f"There is no rank {found.group(1)} where the fewest nodes have {ranks} ranks.")
    return f"{found.group(1)} {found.group(2)}"


def check_setting(text: str) -> str:
    """Returns the setting. Raises CliError if it is no setting of crossrail's, written NAME=VALUE."""
    if not re.fullmatch(r"CROSSRAIL_[A-Z0-9_]+=\S[^\n]*", text):
        raise CliError(f"'{text}' is no setting: write CROSSRAIL_SCRATCH=64M.")
    return text


def check_collective(name: str) -> str:
    """Returns the name. Raises CliError for a collective that cannot be simulated."""
    if name not in COLLECTIVES:
        raise CliError(f"'{name}' cannot be simulated; take {any_of(list(COLLECTIVES))}.{did_you_mean(name, COLLECTIVES)}")
    return name


def check_request(request: Request) -> Request:
    """Returns the request. Raises CliError for one that cannot be simulated."""
    if request.kind not in (*KINDS, BEST):
        raise CliError(f"The transport is {any_of([*KINDS, BEST])}, not '{request.kind}'.{did_you_mean(request.kind, (*KINDS, BEST))}")
    if not 1 <= request.ranks_per_node <= MOST_RANKS_OF_A_NODE:
        raise CliError(f"--ranks-per-node takes a number from 1 to {MOST_RANKS_OF_A_NODE}, not {request.ranks_per_node}.")
    ranks = [nodes * request.ranks_per_node for nodes in request.nodes]
    if min(ranks) < 2 or max(ranks) > MOST_RANKS:
        raise CliError(f"From 2 to {MOST_RANKS} ranks can be simulated, not {min(ranks) if min(ranks) < 2 else max(ranks)}.")
    return request


def sizes_of(machine: Machine, text: Optional[str]) -> Tuple[int, ...]:
    """Returns the sizes that the user names, or the machine's own, or the usual ones. Raises CliError for what are no sizes."""
    return tuple(parse_ranges(text if text is not None else machine.sizes or PRESET_SIZES))
