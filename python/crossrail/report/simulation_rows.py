"""What a simulation found, as rows of tables and sentences, for the terminal and for the page."""

from typing import Any, Callable, Dict, List, Optional, Tuple

from crossrail.simulation.cells import Cell, Ends, cells, has_bands, several_kinds
from crossrail.simulation.peers import peer_notes
from crossrail.sizes import format_count, format_size, format_time_us

Result = Dict[str, Any]
Row = List[str]
WORDS = ("block", "algorithm", "it was", "transport", "data")  # columns aligned to the left
TRAFFIC = (("sends", "sends", format_count), ("queue pairs", "queue_pairs", format_count), ("sent", "sent_bytes", format_size),
           ("staged", "staged_bytes", format_size), ("node memory", "node_bytes", format_size), ("memory a rank", "rank_bytes", format_size),
           ("cache misses", "missed", format_count))
TRAFFIC_EXPLANATION = ("Of the node with the most, in the last call. Staged: bytes copied through the node's memory; node memory: what the plan uses of it; "
                       "memory a rank: what crossrail holds for a rank, in the mean; cache misses: of the adapters' queue pairs, on all nodes.")


def between(ends: Optional[Ends], shown: Callable[[Any], str]) -> str:
    """'512', or '512 to 640' where the ends differ in what is shown; '-' where nothing is known."""
    if ends is None:
        return "-"
    low, high = (shown(value) for value in ends)
    return low if low == high else f"{low} to {high}"


def whole(value: float) -> str:
    """A count that may be a mean: '16 256'."""
    return format_count(round(value))


def title(result: Result) -> str:
    """'MPI_Alltoall simulated: Cluster A, 56 ranks a node'."""
    return f"MPI_{result['collective'].capitalize()} simulated: {result['machine']['name']}, {result['ranks_per_node']} ranks a node"


def node_title(result: Result, nodes: int) -> str:
    """'128 nodes, 7 168 ranks'."""
    return f"{format_count(nodes)} node{'s' if nodes != 1 else ''}, {format_count(nodes * result['ranks_per_node'])} ranks"


def time_headings(result: Result) -> Row:
    """The columns of the times. The transport is one where the fastest counts."""
    return ["block", "algorithm", "it was", *(["transport"] if several_kinds(result) else []), "µs", "first call µs",
            f"times faster than {result['algorithms'][0]}", "data"]


def time_row(result: Result, cell: Cell, first: Optional[Cell]) -> Row:
    """One algorithm at one size."""
    ratio = "-" if cell is first else between(cell.faster_than(first), lambda value: f"{value:.2f}")
    return [format_size(cell.bytes), cell.algorithm, " or ".join(cell.words("chosen")) or "-", *([" or ".join(cell.words("transport"))] if several_kinds(result) else []),
            between(cell.ends("time_us"), format_time_us), between(cell.ends("first_us"), format_time_us), ratio, "right" if cell.checked else "not moved"]


def time_rows(result: Result, nodes: int) -> List[Row]:
    """The times on a number of nodes, by size and algorithm."""
    found = cells(result, nodes)
    return [time_row(result, cell, found.get((size, result["algorithms"][0]))) for (size, _), cell in found.items()]


def traffic_headings() -> Row:
    """The columns of the traffic."""
    return ["block", "algorithm", *(heading for heading, _, _ in TRAFFIC)]


def traffic_rows(result: Result, nodes: int) -> List[Row]:
    """What the calls moved on a number of nodes, by size and algorithm."""
    return [[format_size(size), name, *(between(cell.ends(what), whole if shown is format_count else shown) for _, what, shown in TRAFFIC)]
            for (size, name), cell in cells(result, nodes).items()]


def missing_sentences(result: Result) -> List[str]:
    """What could not be simulated, and why; sizes and numbers of nodes with the same reason are in one sentence."""
    reasons: Dict[Tuple[str, str], List[Dict[str, Any]]] = {}
    for one in result["missing"]:
        reasons.setdefault((one["algorithm"], one["error"]), []).append(one)
    said = []
    for (name, why), those in reasons.items():
        sizes = sorted({one["bytes"] for one in those})
        nodes = ", ".join(map(str, sorted({one["nodes"] for one in those})))
        at = format_size(sizes[0]) if len(sizes) == 1 else f"{format_size(sizes[0])} to {format_size(sizes[-1])}"
        case = f", {those[0]['case']}" if has_bands(result) and len({one["case"] for one in those}) == 1 else ""
        said.append(f"{name} did not run on {nodes} nodes at {at}{case}: {why.rstrip('.')}.")
    return said


def caveats(result: Result) -> List[str]:
    """What a reader must know before quoting the numbers."""
    notes = ["These times are simulated, not measured: crossrail's own code ran on simulated ranks, and the machine file says what each step costs."]
    notes += peer_notes(result["algorithms"])
    if has_bands(result):
        notes.append("Two numbers: with the favourable and the unfavourable ends of all ranges in the machine file, which nobody here can measure.")
    if several_kinds(result):
        notes.append("Of reliable connections (rc), datagrams (ud) and dynamic connections (dc) the fastest counts in each cell; the first call is that one's, too.")
    if result["check_up_to"] < max(result["sizes"]):
        moved = f"Blocks above {format_size(result['check_up_to'])} were" if result["check_up_to"] else "Blocks were"
        notes.append(f"{moved} charged, but not moved, so their data were not compared.")
    if result["placement"] != "blocks":
        notes.append(f"Ranks were placed on the nodes differently from the usual blocks: {result['placement']}.")
    if result.get("late"):
        rank, time_us = result["late"].split()
        notes.append(f"Rank {rank} began each call {time_us} µs late.")
    return notes + [f"The setting {setting} was in force." for setting in result.get("settings", [])] + endings(result)


def endings(result: Result) -> List[str]:
    """How the simulation ended, if it ended early."""
    said = ["The simulation was stopped: only what was ready is here."] if result.get("stopped") else []
    said += ["The time was over: only what was ready is here."] if result.get("time_over") else []
    return said + ([result["failed"]] if result.get("failed") else [])


def wrong_sentences(result: Result) -> List[str]:
    """What was wrong with data."""
    return [f"WRONG DATA. {sentence}" for sentence in result.get("wrong", [])]
