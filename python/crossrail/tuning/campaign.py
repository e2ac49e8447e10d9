"""Measuring the contenders of one number of ranks in rounds, each round over all sizes, a job for some sizes at a time.

What is hopeless after the first round is measured no more, nor at larger sizes, but for a look at the largest size of
every job, until it is near again. As many further rounds have only the winners in them.
"""

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Optional, Tuple

from crossrail import collectives
from crossrail.bench.measurements import Measurement, device_name, on_device
from crossrail.errors import CliError
from crossrail.sizes import format_size
from crossrail.tuning.candidates import Layout, algorithms_for, candidates, chosen_now, effect, short_mpi
from crossrail.tuning.decision import Evidence, Range, Times, decide, decide_once, found_once, found_winners, worth_measuring
from crossrail.tuning.record import Record

SIZES_A_JOB = 4

Launch = Callable[[List[str], List[int]], Measurement]  # contenders, sizes in bytes; raises CliError


@dataclass
class Goal:
    """What to tune: `ranks` in all, sizes in bytes (each twice the one before), `wanted` algorithms (None: all).

    `rounds` find the winners, as many confirm them. `memory`: host or device. `native`: whether it can be measured. `processes`: of a rank, that
    share long messages: the numbers to be tried.
    """

    collective: str
    ranks: int
    sizes: List[int]
    rounds: int
    wanted: Optional[List[str]] = None
    memory: str = "host"
    native: bool = True
    processes: Tuple[int, ...] = (1,)

    @property
    def any_size(self) -> bool:
        """Whether one winner must do for all sizes, as ranks do not know the size of a call."""
        known = collectives.find(self.collective)
        return known is not None and not known.knows_sizes


@dataclass
class Context:
    """What a campaign works with. `progress` hears work done, work in all and words; `warn` hears what is wrong."""

    launch: Launch
    record: Record
    progress: Callable[[float, float, str], None] = field(default=lambda done, total, words: None)
    warn: Callable[[str], None] = field(default=lambda words: None)


class Campaign:
    """The rounds of one number of ranks; `ranges()` afterwards says what a table should say."""

    def __init__(self, goal: Goal, context: Context) -> None:
        self.goal = goal
        self.context = context
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
        """Probes the layout, then measures all rounds. Raises CliError when native or crossrail's present choice fails."""
        self.check_layout(self.probe())
        for number in range(len(self.groups)):
            self.tried[number] = self.fitting(number)
        for turn in range(2 * self.goal.rounds):
            for number in range(len(self.groups)):
                self.measure(turn, number)
        self.progress("done")
        for name in self.never_ran():
            self.context.warn(f"{name}, {self.goal.ranks} ranks: never ran here; CROSSRAIL_LOG=1 says why.")

    def probe(self) -> str:
        """A first job, with one contender, tells on how many nodes MPI sees the ranks. Returns the algorithm that ran."""
        key = f"{self.goal.ranks} ranks, layout"
        seen = self.context.record.get(key)
        if seen is None:
            measurement = self.context.launch(["native"] if self.goal.memory == "host" else ["auto"], self.goal.sizes[:1])
            if not measurement["results"]:
                raise CliError(f"The first job, {self.goal.ranks} ranks, ended without a measurement: nothing can be tuned.")
            seen = {name: measurement[name] for name in ("nodes", "ranks_per_node", "mpi")}
            seen["ran"] = measurement["results"][0]["algorithm"]
            seen["device"] = device_name(measurement) if on_device(measurement) else ""
            self.context.record.keep(key, seen)
        self.layout = Layout(self.goal.ranks, seen["nodes"], seen["ranks_per_node"], self.goal.memory,
                             short_mpi(self.goal.collective, seen["mpi"]), self.goal.processes)
        self.mpi, self.device = seen["mpi"], seen.get("device", "")
        return seen.get("ran", "native")

    def check_layout(self, ran: str) -> None:
        """Raises CliError where device memory goes through host memory here, whatever a table says."""
        goal, layout = self.goal, self.layout
        if goal.memory == "host":
            return
        if not any(candidates(goal.collective, layout, size) for size in goal.sizes):
            raise CliError(f"No algorithm for device memory fits {layout.ranks} ranks on {layout.nodes} nodes: nothing can be tuned.")
        expected = chosen_now(goal.collective, layout, goal.sizes[0])
        if expected != "native" and ran not in algorithms_for(goal.collective, layout):
            raise CliError(f"The data went through host memory ({ran} ran, not {expected}): nothing can be tuned. 'crossrail run' with CROSSRAIL_LOG=1 "
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
            if not result["wrong"] and self.itself(result):
                seen[result["contender"]] = {0: result["p50_us"]}
            elif result["wrong"] and result["contender"] not in self.base:
                self.disqualify(result["contender"], f"{result['wrong']} blocks were wrong at {format_size(size)}")
        return [spec for spec in far if spec not in self.disqualified and worth_measuring([seen], spec, 0)]

    def finalists(self, number: int) -> List[str]:
        """The winners of the first rounds at a group's sizes that are not what the table in force says."""
        if self.winners is None:
            find = found_once if self.goal.any_size else found_winners
            self.winners = find(self.eligible(), self.evidence())
        now = self.evidence().now
        found = [self.winners[size] for size in self.groups[number] if size in self.winners and self.winners[size] != now[size]]
        return [spec for spec in dict.fromkeys(found) if spec not in self.disqualified]

    def measure(self, turn: int, number: int) -> None:
        """A round of a group: from the record, or by a job, whose contenders begin with another one in every round."""
        sizes = self.groups[number]
        challengers = self.challengers(turn, number)
        if turn >= self.goal.rounds and not challengers:
            return
        names = self.base + [spec for spec in challengers if spec not in self.base]
        self.progress(f"round {turn + 1} of {2 * self.goal.rounds}, blocks up to {format_size(sizes[-1])}, {len(names)} contenders")
        key = f"{self.goal.ranks} ranks, round {turn + 1}, {sizes[0]} to {sizes[-1]} bytes"
        first = turn % len(names)
        for result in self.recorded(key, names[first:] + names[:first], sizes)["results"]:
            self.take(turn, result)
        self.done += len(names) * len(sizes)

    def recorded(self, key: str, names: List[str], sizes: List[int]) -> Dict[str, Any]:
        """What the record has under a key, or else what a job measures, which is then kept there."""
        found = self.context.record.get(key)
        if found is None:
            results = self.surviving(names, sizes)["results"]
            found = {"results": results, "failed": {spec: why for spec, why in self.disqualified.items() if spec in names}}
            self.context.record.keep(key, found)
        for spec, why in found["failed"].items():
            self.disqualify(spec, why)
        return found

    def surviving(self, names: List[str], sizes: List[int]) -> Measurement:
        """The job's measurement; where the job fails, those that make it fail are found and left out."""
        try:
            return self.context.launch(names, sizes)
        except CliError as error:
            others = [name for name in names if name not in self.base]
            if not others:
                raise
            if len(others) == 1:
                self.disqualify(others[0], f"its job failed: {error}")
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
            self.context.warn(f"{self.goal.collective}, {spec}, {self.goal.ranks} ranks: {why}")

    def itself(self, result: Dict[str, Any]) -> bool:
        """Whether a contender carried its calls: where its plan failed, or a setting is missing that allows it, another did."""
        return result["contender"] in ("native", "auto") or result["algorithm"] == result["contender"].split()[0]

    def never_ran(self) -> List[str]:
        """The algorithms asked for that fit, but whose plans failed at all sizes."""
        ran = {spec.split()[0] for times in self.times.values() for spec in times}
        tried = {spec.split()[0] for specs in self.tried.values() for spec in specs if spec not in self.disqualified}
        return [name for name in dict.fromkeys(spec.split()[0] for spec in self.goal.wanted or []) if name in tried - ran]

    def take(self, turn: int, result: Dict[str, Any]) -> None:
        """Notes one result. Raises CliError where native or the present choice got wrong bytes."""
        contender, size = result["contender"], result["bytes"]
        if result["wrong"]:
            why = f"{result['wrong']} blocks were wrong at {format_size(size)}"
            if contender in self.base:
                raise CliError(f"{self.goal.collective}, {contender} ({result['algorithm']}), {self.goal.ranks} ranks: {why}. Nothing can be tuned.")
            self.disqualify(contender, why)
        if contender == "auto":
            self.ran[size] = result["algorithm"]
        if not self.itself(result):
            return
        self.times.setdefault(size, {}).setdefault(contender, {})[turn] = result["p50_us"]

    def progress(self, words: str) -> None:
        """Reports work done and expected: contenders times sizes."""
        counts = [len(sizes) * (len(self.base) + self.expected(turn, number))
                  for turn in range(2 * self.goal.rounds) for number, sizes in enumerate(self.groups)]
        self.context.progress(self.done, self.done if words == "done" else max(sum(counts), self.done + 1), words)

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

    def evidence(self) -> Evidence:
        """What decisions stand on."""
        goal, layout = self.goal, self.layout
        now = {size: chosen_now(goal.collective, layout, size, self.ran.get(size)) for size in self.times}
        return Evidence(goal.rounds, now, lambda spec, size: effect(goal.collective, layout, spec, size))

    def ranges(self) -> List[Range]:
        """What a table should say for this layout."""
        find = decide_once if self.goal.any_size else decide
        return find(self.eligible(), self.evidence())
