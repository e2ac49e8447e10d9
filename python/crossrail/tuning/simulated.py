"""Simulated measurements for a tuning table: every candidate on every number of nodes, at both ends of the machine's ranges and over every transport."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from crossrail.collectives import find
from crossrail.errors import CliError, Stopped
from crossrail.simulation.job import Result, simulate
from crossrail.simulation.machine_file import Machine
from crossrail.simulation.peers import peers_for
from crossrail.simulation.request import Options, Request, check_collective, check_request
from crossrail.tuning.candidates import Layout, candidates, split_spec
from crossrail.tuning.decision import HOPELESS

Cell = Tuple[int, str, str, int]  # These are the number of nodes, the end of the ranges, the transport, and the size in bytes.
Times = Dict[Cell, Dict[str, float]]  # They are microseconds by contender.
Hear = Callable[[float, float, str], None]  # It hears what is done, how much there is, and what runs.

PRESET_NODES = "17,32,64,128"
SMALLEST, LARGEST = "8", "64K"  # These are the presets of the sizes.
CHECK_UP_TO = 8  # Blocks up to this size are compared; more would need the memory of all ranks.
ELEMENT_BYTES = 4  # Reductions are simulated with elements of this size.
SAME = 0.005  # Variants whose times differ by less than this part do the same.


@dataclass(frozen=True)
class SimulatedTuning:
    """Says what to simulate for a table: `nodes` and `ranks_per_node` are all counts, and `wanted` limits the candidates."""

    collective: str
    machine: Machine
    nodes: Tuple[int, ...]
    ranks_per_node: Tuple[int, ...]
    sizes: Tuple[int, ...]
    wanted: Optional[List[str]]
    output: Path
    command: str


@dataclass
class Evidence:
    """Has the simulated times for one number of ranks a node. `candidates` are in the order in which they were tried; `left_out` are tried no more."""

    ranks_per_node: int
    peers: List[str]
    candidates: List[str] = field(default_factory=list)
    left_out: Set[str] = field(default_factory=set)
    times: Times = field(default_factory=dict)

    @property
    def nodes(self) -> List[int]:
        """Returns the numbers of nodes that were simulated."""
        return sorted({cell[0] for cell in self.times})


@dataclass
class Outcome:
    """Has all evidence. `ended` is the error that ended the simulations early, if one did; what was complete before is kept."""

    evidence: List[Evidence]
    ended: Optional[CliError] = None


class WrongData(CliError):
    """An algorithm's data were wrong."""

    exit_code = 1


def check(tuning: SimulatedTuning) -> None:
    """Raises CliError for what cannot be simulated."""
    check_collective(tuning.collective)
    for nodes in tuning.nodes:
        if nodes < 2:
            raise CliError("Rows for one node are measured, not simulated: --nodes takes numbers from 2 on.")
        for ranks in tuning.ranks_per_node:
            check_request(Request(tuning.collective, tuning.machine, (nodes,), ranks, ("auto",), tuning.sizes, tuning.machine.kind))
    known = find(tuning.collective)
    if known and known.reduces and any(size % ELEMENT_BYTES for size in tuning.sizes):
        raise CliError(f"The elements of a simulated {tuning.collective} have {ELEMENT_BYTES} bytes: --min takes a multiple of that.")


def candidates_on(tuning: SimulatedTuning, nodes: int, ranks_per_node: int) -> List[str]:
    """Returns what is tried on a number of nodes: what fits at any of the sizes, with the parameters that make a difference."""
    layout = Layout(nodes * ranks_per_node, nodes, ranks_per_node)
    return list(dict.fromkeys(spec for size in tuning.sizes for spec in candidates(tuning.collective, layout, size, tuning.wanted)))


def times_of(result: Result) -> Times:
    """Returns the times of a result by cell; if several transports were simulated, each of them is a cell of its own."""
    times: Times = {}
    for one in result["results"]:
        by_kind = one.get("transports") or {one["transport"]: one["time_us"]}
        for kind, time_us in by_kind.items():
            if time_us:
                times.setdefault((one["nodes"], one["case"], kind, one["bytes"]), {})[one["algorithm"]] = time_us
    return times


def is_hopeless(name: str, names: List[str], times: Times) -> bool:
    """Returns whether a candidate takes HOPELESS times as long as the best one in every cell."""
    return all(found.get(name, math.inf) > HOPELESS * min((found[one] for one in names if one in found), default=math.inf) for found in times.values())


def do_the_same(one: str, other: str, times: Times) -> bool:
    """Returns whether two variants of one algorithm take the same time in every cell."""
    if split_spec(one)[0] != split_spec(other)[0]:
        return False
    return all((one in found) == (other in found) and abs(found.get(one, 1.0) / found.get(other, 1.0) - 1) < SAME for found in times.values())


def not_worth_trying(names: List[str], times: Times) -> Set[str]:
    """Returns the candidates that need not be tried on more nodes: they are hopeless, or do what one before them does."""
    left_out: Set[str] = set()
    for place, name in enumerate(names):
        before = [one for one in names[:place] if one not in left_out]
        if is_hopeless(name, names, times) or any(do_the_same(one, name, times) for one in before):
            left_out.add(name)
    return left_out


def error_of(result: Dict[str, Any]) -> Optional[CliError]:
    """Returns what ended a simulation early, or None if it is complete."""
    if result.get("wrong"):
        return WrongData(f"Data were wrong: {result['wrong'][0]}")
    if result.get("stopped"):
        return Stopped("Stopped.")
    return CliError(result["failed"]) if result.get("failed") else None


def simulate_nodes(tuning: SimulatedTuning, evidence: Evidence, nodes: int, hear: Callable[[float, str], None]) -> None:
    """Adds the times on a number of nodes. Raises CliError if they do not become complete."""
    names = [name for name in candidates_on(tuning, nodes, evidence.ranks_per_node) if name not in evidence.left_out]
    if not names:
        raise CliError(f"No algorithm fits on {nodes} nodes of {evidence.ranks_per_node} ranks.")
    result = simulate(Request(tuning.collective, tuning.machine, (nodes,), evidence.ranks_per_node, (*names, *evidence.peers), tuning.sizes,
                              tuning.machine.kind, Options(check_up_to=CHECK_UP_TO)), hear)
    error = error_of(result)
    if error:
        raise error
    times = times_of(result)
    evidence.times.update(times)
    evidence.candidates += [name for name in names if name not in evidence.candidates]
    evidence.left_out |= not_worth_trying(names, times)


def simulate_all(tuning: SimulatedTuning, hear: Hear) -> Outcome:
    """Simulates everything. If it ends early, what is complete by then is kept; raises the CliError if nothing is."""
    peers = peers_for(tuning.collective)
    outcome = Outcome([Evidence(ranks, peers) for ranks in sorted(tuning.ranks_per_node)])
    places = [(evidence, nodes) for evidence in outcome.evidence for nodes in sorted(tuning.nodes)]
    runs = (2 if tuning.machine.has_ranges else 1) * len(Request(tuning.collective, tuning.machine, (2,), 2, (), (), tuning.machine.kind).kinds)
    for number, (evidence, nodes) in enumerate(places):
        words = f"{nodes} nodes of {evidence.ranks_per_node}"
        try:
            simulate_nodes(tuning, evidence, nodes, lambda done, _, number=number, words=words: hear(number + done / runs, len(places), words))
        except CliError as error:
            if not any(one.times for one in outcome.evidence):
                raise
            outcome.ended = error
            break
    return outcome
