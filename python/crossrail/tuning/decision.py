"""What a tuning table should say, decided from measurements. Nothing is run here.

A *contender* is 'native', 'auto' (what the table in force chooses: the incumbent) or an algorithm with parameters.
`Times` holds, for each contender, its median in microseconds by round. Contenders of one round ran in the same job,
taking turns, so that only times of the same round are compared.

The first `rounds` rounds find the winners; as the best of many looks better than it is, as many further rounds, with
the winners only, have to confirm them.
"""

import math
from dataclasses import dataclass
from statistics import geometric_mean, median, quantiles
from typing import Callable, Dict, List, Optional

Times = Dict[str, Dict[int, float]]

MARGIN = 0.03  # a challenger that gains less changes nothing
FEWEST_ROUNDS = 3  # that a comparison needs
HOPELESS = 3.0  # times as slow as the best: not measured again after the first round
NEAR = 1.5  # the same, after FEWEST_ROUNDS rounds
ISOLATED_GAIN = 0.05  # a size with a winner of its own keeps it from this gain over its neighbours' winner on


@dataclass
class Evidence:
    """What decisions stand on besides times: rounds that find winners; what the table in force chooses, by size in bytes;

    `effect` of a contender at a size: those with the same do the same there.
    """

    rounds: int
    now: Dict[int, str]
    effect: Callable[[str, int], str] = lambda spec, _size: spec

    def same(self, one: str, other: str, size: int) -> bool:
        """Whether two contenders do the same at a size."""
        return one == other or self.effect(one, size) == self.effect(other, size)


@dataclass
class Range:
    """Neighbouring sizes with one winner, in bytes; `now` is what the table in force says.

    `gain`: the time now divided by the time with the winner, geometric mean over the sizes.
    """

    low: int
    high: int
    winner: str
    now: str
    gain: float


def ratios(times: Times, challenger: str, other: str) -> List[float]:
    """Challenger's time divided by the other's, for the rounds both took part in."""
    mine, theirs = times.get(challenger, {}), times.get(other, {})
    return [mine[one] / theirs[one] for one in sorted(mine) if theirs.get(one, 0) > 0]


def beats(times: Times, challenger: str, other: str) -> bool:
    """Faster by the margin, by more than the interquartile range of the rounds, and in every round but one of five."""
    found = ratios(times, challenger, other)
    if len(found) < FEWEST_ROUNDS:
        return False
    gain = 1 - median(found)
    lower, _, upper = quantiles(found, n=4, method="inclusive")
    lost = sum(ratio >= 1 for ratio in found)
    return gain >= MARGIN and gain > upper - lower and lost <= len(found) // 5


def typical(times: Times, contender: str) -> float:
    """The median over rounds; infinite for one that was not measured."""
    return median(times[contender].values()) if times.get(contender) else math.inf


def part(times: Times, first: int, last: int) -> Times:
    """The rounds from `first` on, before `last`."""
    return {name: {one: time for one, time in rounds.items() if first <= one < last} for name, rounds in times.items()}


def wins(times: Times, challenger: str) -> bool:
    """Whether it beats the incumbent, and native where that was measured (not every MPI library takes device memory)."""
    return beats(times, challenger, "auto") and (challenger == "native" or not times.get("native") or beats(times, challenger, "native"))


def winner_of(times: Times, incumbent: str, before: Optional[str] = None) -> str:
    """The winner at one size: the incumbent unless another wins by the margin.

    `before`, the winner at the size below, is kept where the best does not beat it by the margin.
    """
    able = [name for name in times if name not in ("auto", incumbent) and wins(times, name)]
    if not able:
        return incumbent
    best = min(able, key=lambda name: typical(times, name))
    return before if before in able and not beats(times, best, before) else best


def others(times: Times, incumbent: str, evidence: Evidence, size: int) -> Times:
    """Without the challengers that do what the incumbent does."""
    return {name: rounds for name, rounds in times.items()
            if name in ("native", "auto") or not evidence.same(name, incumbent, size)}


def found_winners(sizes: Dict[int, Times], evidence: Evidence) -> Dict[int, str]:
    """The winners by size according to the first rounds."""
    winners: Dict[int, str] = {}
    before = None
    for size, times in sorted(decided(sizes).items()):
        incumbent = evidence.now[size]
        before = winners[size] = winner_of(others(part(times, 0, evidence.rounds), incumbent, evidence, size), incumbent, before)
    return winners


def confirmed(times: Times, winner: str, incumbent: str, rounds: int) -> str:
    """The winner where the further rounds confirm it, else native where they say so, else the incumbent."""
    further = part(times, rounds, 2 * rounds)
    return next((name for name in (winner, "native") if name != incumbent and wins(further, name)), incumbent)


def cost(times: Times, contender: str, evidence: Evidence, size: int) -> float:
    """Its time as a part of the incumbent's, median over all rounds; infinite where it was not measured."""
    if evidence.same(contender, evidence.now[size], size):
        return 1.0
    found = ratios(times, contender, "auto")
    return median(found) if len(found) >= FEWEST_ROUNDS else math.inf


def smooth(sizes: Dict[int, Times], evidence: Evidence, winners: Dict[int, str]) -> Dict[int, str]:
    """Gives a size whose winner neither neighbour shares to a neighbour's winner, where that costs less than ISOLATED_GAIN."""
    order = sorted(winners)
    smoothed = dict(winners)
    for place, size in enumerate(order):
        neighbours = {smoothed[other] for other in order[max(0, place - 1):place] + order[place + 1:place + 2]}
        if not neighbours or smoothed[size] in neighbours:
            continue
        costs = {name: cost(sizes[size], name, evidence, size) for name in sorted(neighbours)}
        best = min(costs, key=lambda name: costs[name])
        if costs[best] < cost(sizes[size], smoothed[size], evidence, size) * (1 + ISOLATED_GAIN):
            smoothed[size] = best
    return smoothed


def unify(evidence: Evidence, winners: Dict[int, str]) -> Dict[int, str]:
    """Gives neighbouring sizes one name where both names do the same."""
    unified = dict(winners)
    order = sorted(winners)
    for way in (order[::-1], order):
        for other, size in zip(way, way[1:]):
            if evidence.same(unified[other], unified[size], size):
                unified[size] = unified[other]
    return unified


def gain_at(times: Times, winner: str, evidence: Evidence, size: int) -> float:
    """The incumbent's time divided by the winner's, median over the further rounds; 1 where nothing changes."""
    if evidence.same(winner, evidence.now[size], size):
        return 1.0
    found = ratios(part(times, evidence.rounds, 2 * evidence.rounds), "auto", winner) or ratios(times, "auto", winner)
    return median(found) if found else 1.0


def merge(sizes: Dict[int, Times], evidence: Evidence, winners: Dict[int, str]) -> List[Range]:
    """Neighbouring sizes with the same winner, where the table in force says the same, as one range."""
    ranges: List[Range] = []
    gains: List[List[float]] = []
    for size in sorted(winners):
        now = evidence.now[size]
        if not ranges or (ranges[-1].winner, ranges[-1].now) != (winners[size], now):
            ranges.append(Range(size, size, winners[size], now, 1.0))
            gains.append([])
        ranges[-1].high = size
        gains[-1].append(gain_at(sizes[size], winners[size], evidence, size))
    for one, found in zip(ranges, gains):
        one.gain = geometric_mean(found)
    return ranges


def decided(sizes: Dict[int, Times]) -> Dict[int, Times]:
    """The sizes measured in enough rounds."""
    return {size: times for size, times in sizes.items() if len(times.get("auto", {})) >= FEWEST_ROUNDS}


def decide(sizes: Dict[int, Times], evidence: Evidence) -> List[Range]:
    """The ranges of a table for one layout."""
    winners = {size: confirmed(sizes[size], winner, evidence.now[size], evidence.rounds)
               for size, winner in found_winners(sizes, evidence).items()}
    return merge(sizes, evidence, unify(evidence, smooth(sizes, evidence, winners)))


def pool(sizes: Dict[int, Times]) -> Times:
    """One time for all sizes: by contender and round the geometric mean; only those that were measured at every size."""
    pooled: Times = {}
    for contender in {name: None for times in sizes.values() for name in times}:
        everywhere = [times.get(contender, {}) for times in sizes.values()]
        shared = set(everywhere[0]).intersection(*everywhere[1:])
        means = {one: geometric_mean([found[one] for found in everywhere]) for one in sorted(shared)}
        if means:
            pooled[contender] = means
    return pooled


def pooled_evidence(sizes: Dict[int, Times], evidence: Evidence) -> Evidence:
    """The evidence for `pool`, whose only size is the largest."""
    return Evidence(evidence.rounds, {max(sizes): evidence.now[max(sizes)]})


def decide_once(sizes: Dict[int, Times], evidence: Evidence) -> List[Range]:
    """As `decide`, for a collective whose ranks do not know the sizes: one winner for all of them."""
    enough = decided(sizes)
    if not enough:
        return []
    found = decide({max(enough): pool(enough)}, pooled_evidence(enough, evidence))
    for one in found:
        one.low = min(enough)
    return found


def found_once(sizes: Dict[int, Times], evidence: Evidence) -> Dict[int, str]:
    """As `found_winners`, for such a collective."""
    enough = decided(sizes)
    winners = found_winners({max(enough): pool(enough)}, pooled_evidence(enough, evidence)) if enough else {}
    return {size: winner for winner in winners.values() for size in enough}


def best_time(times: Times) -> float:
    """The typical time of the fastest."""
    return min((typical(times, name) for name in times), default=math.inf)


def worth_measuring(sizes: List[Times], contender: str, rounds_done: int) -> bool:
    """Whether a contender is near enough to the best, at one of these sizes, for another round."""
    limit = NEAR if rounds_done >= FEWEST_ROUNDS else HOPELESS
    return any(typical(times, contender) <= limit * best_time(times) for times in sizes)
