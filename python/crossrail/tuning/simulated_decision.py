"""What a tuning table should say, decided from simulated times. Nothing is run here.

Nobody knows which case is the true one: which end of the machine's ranges, and which transport. So a row takes the algorithm whose worst case is the least
bad: in each case, its time is compared with the best one's, and the largest of these ratios counts. A row between two simulated numbers of nodes counts the
cases of both.
"""

import math
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from crossrail.algorithms import split_spec
from crossrail.tuning.simulated import Evidence

LOSS = 0.03  # Rows are merged if the worst ratio grows by less than this part.
Ends = Tuple[float, float]
Found = List[Dict[str, float]]  # These are the times of several cells.


@dataclass(frozen=True)
class Span:
    """Is a range of node counts; `simulated` are those in it, or at its lower end, that were simulated."""

    low: int
    high: int
    simulated: Tuple[int, ...]

    def with_next(self, other: "Span") -> "Span":
        """Returns both spans as one."""
        return Span(self.low, other.high, (*self.simulated, *other.simulated))


@dataclass(frozen=True)
class SimulatedRow:
    """Is one row: `low` and `high` are the sizes. `worst` is the largest ratio of its time to the best one's.

    `over_peer` and `over_second` say how many times faster it is than the best peer, and than the best row of another algorithm, `second`: the least and the
    greatest ratio over all cases.
    """

    span: Span
    ranks_per_node: int
    low: int
    high: int
    winner: str
    worst: float
    over_peer: Optional[Ends] = None
    second: str = ""
    over_second: Optional[Ends] = None

    @property
    def sure(self) -> bool:
        """Returns whether no other algorithm is noticeably faster in any case."""
        return self.worst <= 1 + LOSS


def spans_of(counts: List[int]) -> List[Span]:
    """Returns the ranges between neighbouring counts: 17, 32, 64 becomes 17 to 32 and 33 to 64. One count is a range of its own."""
    if len(counts) == 1:
        return [Span(counts[0], counts[0], (counts[0],))]
    return [Span(low if number == 0 else low + 1, high, (low, high)) for number, (low, high) in enumerate(zip(counts, counts[1:]))]


def found_in(evidence: Evidence, span: Span, low: int, high: int) -> Found:
    """Returns the times of all cells of a span and a range of sizes, one after the other."""
    return [found for (nodes, _, _, size), found in evidence.times.items() if nodes in span.simulated and low <= size <= high]


def worst_ratios(cells: Found, names: List[str]) -> Dict[str, float]:
    """Returns, for the candidates that ran in every cell, the largest ratio of their time to the best one's. Cells in which none of them ran do not count."""
    able = [found for found in cells if any(name in found for name in names)]
    bests = [min(found[name] for name in names if name in found) for found in able]
    worst = {name: max((found.get(name, math.inf) / best for found, best in zip(able, bests)), default=math.inf) for name in names}
    return {name: ratio for name, ratio in worst.items() if math.isfinite(ratio)}


def near(evidence: Evidence, span: Span, size: int) -> Dict[str, float]:
    """Returns the candidates whose worst ratio is that of the best choice or nearly so, each with the part that it loses."""
    worst = worst_ratios(found_in(evidence, span, size, size), evidence.candidates)
    least = min(worst.values(), default=math.inf)
    return {name: ratio / least - 1 for name, ratio in worst.items() if ratio <= least * (1 + LOSS)}


def shared(one: Dict[str, float], other: Dict[str, float]) -> Dict[str, float]:
    """Returns the candidates of both, each with the larger loss."""
    return {name: max(loss, other[name]) for name, loss in one.items() if name in other}


Near = Dict[int, Dict[str, float]]  # It has the near candidates by size; sizes without any are not in it.


def near_by_size(evidence: Evidence, span: Span) -> Near:
    """Returns the near candidates of every size at which there are any."""
    sizes = sorted({cell[3] for cell in evidence.times})
    found = {size: near(evidence, span, size) for size in sizes}
    return {size: names for size, names in found.items() if names}


def ranges_of(choices: Near) -> List[Tuple[int, int, str]]:
    """Returns the fewest ranges of sizes that have one near candidate each, with the one that loses least."""
    ranges: List[Tuple[int, int, str]] = []
    names: Dict[str, float] = {}
    for size in sorted(choices):
        both = shared(names, choices[size])
        low = ranges.pop()[0] if both else size
        names = both or choices[size]
        ranges.append((low, size, min(names, key=lambda name: names[name])))
    return ranges


def merged_spans(evidence: Evidence) -> List[Tuple[Span, Near]]:
    """Returns the spans, with neighbours merged if that makes fewer rows and no choice loses more than LOSS."""
    merged: List[Tuple[Span, Near]] = []
    for span in spans_of(evidence.nodes):
        choices = near_by_size(evidence, span)
        if merged:
            before, theirs = merged[-1]
            both = {size: shared(theirs[size], names) for size, names in choices.items() if size in theirs}
            alike = set(theirs) == set(choices) and all(both.values())
            if alike and len(ranges_of(both)) < len(ranges_of(theirs)) + len(ranges_of(choices)):
                merged[-1] = (before.with_next(span), both)
                continue
        merged.append((span, choices))
    return merged


def over(winner: str, others: List[str], cells: Found) -> Optional[Ends]:
    """Returns how many times faster the winner is than the best of the others: the least and the greatest ratio of the cells where one of them ran."""
    ratios = [min(found[name] for name in others if name in found) / found[winner] for found in cells if winner in found and any(name in found for name in others)]
    return (min(ratios), max(ratios)) if ratios else None


def row_of(evidence: Evidence, span: Span, sizes: Tuple[int, int], winner: str) -> SimulatedRow:
    """Returns a row with how sure it is."""
    cells = found_in(evidence, span, *sizes)
    worst = worst_ratios(cells, evidence.candidates)
    others = {name: ratio for name, ratio in worst.items() if split_spec(name)[0] != split_spec(winner)[0]}
    second = min(others, key=lambda name: others[name]) if others else ""
    return SimulatedRow(span, evidence.ranks_per_node, *sizes, winner, worst.get(winner, math.inf), over(winner, evidence.peers, cells),
                        second, over(winner, [second], cells) if second else None)


def rows_for(evidence: Evidence) -> List[SimulatedRow]:
    """Returns the rows for one number of ranks a node, the fewest nodes and the smallest blocks first."""
    return [row_of(evidence, span, (low, high), winner) for span, choices in merged_spans(evidence) for low, high, winner in ranges_of(choices)]
