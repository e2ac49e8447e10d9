"""Measuring the contenders of one number of ranks in rounds, each round over all sizes, a job for some sizes at a time.

What is hopeless after the first round is measured no more, nor at larger sizes, but for a look at the largest size of
every job, until it is near again. As many further rounds have only the winners in them.
"""

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional

from crossrail import core
from crossrail.measurements import Measurement, device_name, on_device
from crossrail.problem import Problem
from crossrail.sizes import format_size
from crossrail.tuning_candidates import Layout, candidates, chosen_now, effect
from crossrail.tuning_decision import Ground, Range, Times, decide, decide_once, found_once, found_winners, worth_measuring
from crossrail.tuning_record import Record

SIZES_A_JOB = 4
ALIKE_FOR_ALL_SIZES = ("alltoallv",)  # collectives whose ranks do not know the size of a call

Launch = Callable[[List[str], List[int]], Measurement]  # contenders, sizes in bytes; raises Problem


@dataclass
class Goal:
    """What to tune: `ranks` in all, sizes in bytes (each twice the one before), `wanted` algorithms (None: all).

    `rounds` find the winners, as many confirm them. `memory`: host or device. `native`: whether it can be measured.
    """

    collective: str
    ranks: int
    sizes: List[int]
    rounds: int
    wanted: Optional[List[str]] = None
    memory: str = "host"
    native: bool = True


@dataclass
class Surroundings:
    """What a campaign works with. `tell` hears work done, work in all and words; `complain` hears what is wrong."""

    launch: Launch
    record: Record
    tell: Callable[[float, float, str], None] = field(default=lambda done, total, words: None)
    complain: Callable[[str], None] = field(default=lambda words: None)


class Campaign:
    """The rounds of one number of ranks; `ranges()` afterwards says what a table should say."""

    def __init__(self, goal: Goal, surroundings: Surroundings) -> None:
        self.goal = goal
        self.around = surroundings
        self.base = ["native", "auto"] if goal.native else ["auto"]  # in every job
        self.times: Dict[int, Times] = {}
        self.ran: Dict[int, str] = {}  # by size: the algorithm of 'auto'
        self.disqualified: Dict[str, str] = {}
        self.winners: Optional[Dict[int, str]] = None  # of the first rounds
        self.done = 0.0
        self.mpi = ""
        self.device = ""  # where the data are not in host memory
        self.layout = Layout(goal.ranks, 1, goal.ranks, goal.memory)
        self.groups = [goal.sizes[at:at + SIZES_A_JOB] for at in range(0, len(goal.sizes), SIZES_A_JOB)]
        self.tried: Dict[int, List[str]] = {}  # by group: the candidates that fit

    def run(self) -> None:
        """Probes the layout, then measures all rounds. Raises Problem when native or crossrail's present choice fails."""
        self.check_layout(self.probe())
        for number in range(len(self.groups)):
            self.tried[number] = self.fitting(number)
        for turn in range(2 * self.goal.rounds):
            for number in range(len(self.groups)):
                self.measure(turn, number)
        self.tell("done")

    def probe(self) -> str:
        """A first job, with one contender, tells on how many nodes MPI sees the ranks. Returns the algorithm that ran."""
        key = f"{self.goal.ranks} ranks, layout"
        seen = self.around.record.get(key)
        if seen is None:
            measurement = self.around.launch(["native"] if self.goal.memory == "host" else ["auto"], self.goal.sizes[:1])
            seen = {name: measurement[name] for name in ("nodes", "ranks_per_node", "mpi")}
            seen["ran"] = measurement["results"][0]["algorithm"]
            seen["device"] = device_name(measurement) if on_device(measurement) else ""
            self.around.record.keep(key, seen)
        self.layout = Layout(self.goal.ranks, seen["nodes"], seen["ranks_per_node"], self.goal.memory)
        self.mpi, self.device = seen["mpi"], seen.get("device", "")
        return seen.get("ran", "native")

    def check_layout(self, ran: str) -> None:
        """Raises Problem where device memory goes through host memory here, whatever a table says."""
        goal, layout = self.goal, self.layout
        if goal.memory == "host":
            return
        if not any(candidates(goal.collective, layout, size) for size in goal.sizes):
            raise Problem(f"No algorithm for device memory fits {layout.ranks} ranks on {layout.nodes} nodes: nothing can be tuned.")
        expected = chosen_now(goal.collective, layout, goal.sizes[0])
        if expected != "native" and ran not in core.algorithm_names(goal.collective, goal.memory):
            raise Problem(f"The data went through host memory ({ran} ran, not {expected}): nothing can be tuned. 'crossrail run' with CROSSRAIL_LOG=1 "
                          "says what is missing.")

    def fitting(self, number: int) -> List[str]:
        """All candidates that fit at one of a group's sizes, but for what the table in force says at all of them."""
        goal, layout, sizes = self.goal, self.layout, self.groups[number]
        found = [spec for size in sizes for spec in candidates(goal.collective, layout, size, goal.wanted)]
        now = {size: effect(goal.collective, layout, chosen_now(goal.collective, layout, size), size) for size in sizes}
        return [spec for spec in dict.fromkeys(found) if any(effect(goal.collective, layout, spec, size) != now[size] for size in sizes)]

    def challengers(self, turn: int, number: int) -> List[str]:
        """Who takes part in a round of a group."""
        sizes = self.groups[number]
        if turn >= self.goal.rounds:
            return self.finalists(number)
        able = [spec for spec in self.tried[number] if spec not in self.disqualified]
        if turn > 0:
            here = [self.times[size] for size in sizes if size in self.times]
            return [spec for spec in able if worth_measuring(here, spec, turn)]
        if number == 0:
            return able
        below = [self.times[size] for size in self.groups[number - 1] if size in self.times]
        far = [spec for spec in able if not worth_measuring(below, spec, 0)]
        again = self.look(far, sizes[-1]) if far else []
        return [spec for spec in able if spec not in far or spec in again]

    def look(self, far: List[str], size: int) -> List[str]:
        """Which of those that were hopeless at smaller sizes are near at this one: a job of their own tells."""
        found = self.recorded(f"{self.goal.ranks} ranks, look at {size} bytes", self.base + far, [size])
        seen: Times = {}
        for result in found["results"]:
            if not result["wrong"]:
                seen[result["contender"]] = {0: result["p50_us"]}
            elif result["contender"] not in self.base:
                self.disqualify(result["contender"], f"{result['wrong']} blocks were wrong at {format_size(size)}")
        return [spec for spec in far if spec not in self.disqualified and worth_measuring([seen], spec, 0)]

    def finalists(self, number: int) -> List[str]:
        """The winners of the first rounds at a group's sizes that are not what the table in force says."""
        if self.winners is None:
            find = found_once if self.goal.collective in ALIKE_FOR_ALL_SIZES else found_winners
            self.winners = find(self.eligible(), self.ground())
        now = self.ground().now
        found = [self.winners[size] for size in self.groups[number] if size in self.winners and self.winners[size] != now[size]]
        return [spec for spec in dict.fromkeys(found) if spec not in self.disqualified]

    def measure(self, turn: int, number: int) -> None:
        """A round of a group: from the record, or by a job, whose contenders begin with another one in every round."""
        sizes = self.groups[number]
        challengers = self.challengers(turn, number)
        if turn >= self.goal.rounds and not challengers:
            return
        names = self.base + [spec for spec in challengers if spec not in self.base]
        self.tell(f"round {turn + 1} of {2 * self.goal.rounds}, blocks up to {format_size(sizes[-1])}, {len(names)} contenders")
        key = f"{self.goal.ranks} ranks, round {turn + 1}, {sizes[0]} to {sizes[-1]} bytes"
        first = turn % len(names)
        for result in self.recorded(key, names[first:] + names[:first], sizes)["results"]:
            self.take(turn, result)
        self.done += len(names) * len(sizes)

    def recorded(self, key: str, names: List[str], sizes: List[int]) -> Dict[str, Any]:
        """What the record has under a key, or else what a job measures, which is then kept there."""
        found = self.around.record.get(key)
        if found is None:
            results = self.surviving(names, sizes)["results"]
            found = {"results": results, "failed": {spec: why for spec, why in self.disqualified.items() if spec in names}}
            self.around.record.keep(key, found)
        for spec, why in found["failed"].items():
            self.disqualify(spec, why)
        return found

    def surviving(self, names: List[str], sizes: List[int]) -> Measurement:
        """The job's measurement; where the job fails, those that make it fail are found and left out."""
        try:
            return self.around.launch(names, sizes)
        except Problem as problem:
            others = [name for name in names if name not in self.base]
            if not others:
                raise
            if len(others) == 1:
                self.disqualify(others[0], f"its job failed: {problem}")
                return self.surviving(self.base, sizes)
            for half in (others[:len(others) // 2], others[len(others) // 2:]):
                self.surviving(self.base + half, sizes)
            left = [name for name in names if name not in self.disqualified]
            if len(left) == len(names):
                raise
            return self.surviving(left, sizes)

    def disqualify(self, spec: str, why: str) -> None:
        """Leaves a candidate out from now on, and says so once."""
        if spec not in self.disqualified:
            self.disqualified[spec] = why
            self.around.complain(f"{self.goal.collective}, {spec}, {self.goal.ranks} ranks: {why}")

    def take(self, turn: int, result: Dict[str, Any]) -> None:
        """Notes one result. Raises Problem where native or the present choice got wrong bytes."""
        contender, size = result["contender"], result["bytes"]
        if result["wrong"]:
            why = f"{result['wrong']} blocks were wrong at {format_size(size)}"
            if contender in self.base:
                raise Problem(f"{self.goal.collective}, {contender} ({result['algorithm']}), {self.goal.ranks} ranks: {why}. Nothing can be tuned.")
            self.disqualify(contender, why)
        if contender == "auto":
            self.ran[size] = result["algorithm"]
        elif contender != "native" and result["algorithm"] != contender.split()[0]:
            return  # its plan failed here, another carried the calls
        self.times.setdefault(size, {}).setdefault(contender, {})[turn] = result["p50_us"]

    def tell(self, words: str) -> None:
        """Reports work done and expected: contenders times sizes."""
        counts = [len(sizes) * (len(self.base) + self.expected(turn, number))
                  for turn in range(2 * self.goal.rounds) for number, sizes in enumerate(self.groups)]
        self.around.tell(self.done, self.done if words == "done" else max(sum(counts), self.done + 1), words)

    def expected(self, turn: int, number: int) -> float:
        """How many challengers a round of a group has: a guess for the rounds to come."""
        if turn >= self.goal.rounds:
            return 0.5 if self.winners is None else len(self.finalists(number)) or -len(self.base)
        if turn == 0 or self.groups[number][0] not in self.times:
            return len(self.tried[number]) / (2 if turn else 1)
        return len(self.challengers(turn, number))  # no look: that is for turn 0

    def eligible(self) -> Dict[int, Times]:
        """The times without those of disqualified candidates."""
        return {size: {name: rounds for name, rounds in times.items() if name not in self.disqualified}
                for size, times in self.times.items()}

    def ground(self) -> Ground:
        """What decisions stand on."""
        goal, layout = self.goal, self.layout
        now = {size: chosen_now(goal.collective, layout, size, self.ran.get(size)) for size in self.times}
        return Ground(goal.rounds, now, lambda spec, size: effect(goal.collective, layout, spec, size))

    def ranges(self) -> List[Range]:
        """What a table should say for this layout."""
        find = decide_once if self.goal.collective in ALIKE_FOR_ALL_SIZES else decide
        return find(self.eligible(), self.ground())
