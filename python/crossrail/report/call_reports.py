"""What the processes of a job counted: reading the files of CROSSRAIL_REPORT and adding them up."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Tuple

from crossrail.inputs import parse_json, printable
from crossrail.json_shape import Amount, Count, Positive, misfit

COUNTS = {str: Count}
CALL = {"name": str, "interface?": str, "carried?": Count, "native?": Count, "errors?": Count, "seconds?": Amount, "bytes?": Count, "sent_bytes?": Count,
        "histogram?": COUNTS, "algorithms?": COUNTS, "native_because?": COUNTS,
        "overlap?": {str: {"calls": Count, "starting": Amount, "waiting": Amount, "under_way": Amount}}}
PLAN = {"collective": str, "algorithm": str, "block_bytes": Count, "ranks": Count, "nodes": Count, "calls": Count, "sends": Amount, "sent_bytes": Amount,
        "staged_bytes": Amount, "queue_pairs": Count, "node_bytes": Count, "scratch_bytes": Count}
COMPARED = {"collective": str, "least_bytes": Count, "most_bytes": Count, "windows": Count, "given_back": Count, "taken_back": Count, "carried_seconds": Amount,
            "native_seconds": Amount}
PROCESS = {"rank": int, "world_size?": int, "host?": str, "mpi?": str, "wall_seconds?": Amount, "finished?": bool, "calls": [CALL], "plans?": [PLAN],
           "compared?": [COMPARED], "time_line?": {"part_seconds": Positive, "carried": [Amount], "native": [Amount]}}

@dataclass
class Overlap:
    """Nonblocking or persistent calls of one function that one process has made, in seconds of that process.

    `starting` and `waiting`: inside the functions that start them and those that complete them; `under_way`: while at
    least one of them had begun and had not ended.
    """

    calls: int
    starting: float
    waiting: float
    under_way: float

    @property
    def hidden(self) -> float:
        """The part of the time under way that the process spent neither starting them nor waiting for them: 0 to 1."""
        return max(0.0, 1 - (self.starting + self.waiting) / self.under_way) if self.under_way > 0 else 0.0


@dataclass
class CallSummary:
    """One MPI function through one interface ('c' or 'fortran'), over all processes that called it.

    `carried` and `native` have one count a process; `seconds` is the largest over the processes; `histogram`
    maps the upper bound of the block size in bytes to calls, summed over processes, as are `bytes` (a mean block of each call),
    `sent_bytes` (all its blocks), `algorithms` (name to calls) and `native_because` (reason to calls); `times` and `walls` are seconds of
    each process inside the call and of its whole run (0: unknown); `overlaps`: by who carried nonblocking and persistent calls, 'crossrail' or
    'native', one a process that made such calls.
    """

    name: str
    interface: str
    carried: List[int] = field(default_factory=list)
    native: List[int] = field(default_factory=list)
    errors: int = 0
    seconds: float = 0.0
    bytes: int = 0
    histogram: Counter = field(default_factory=Counter)
    algorithms: Counter = field(default_factory=Counter)
    native_because: Counter = field(default_factory=Counter)
    sent_bytes: int = 0
    times: List[float] = field(default_factory=list)
    walls: List[float] = field(default_factory=list)
    overlaps: Dict[str, List[Overlap]] = field(default_factory=dict)

    def add(self, call: Dict[str, Any], wall_seconds: float = 0.0) -> None:
        """Adds the entry of one process that ran so long."""
        self.carried.append(int(call.get("carried", 0)))
        self.native.append(int(call.get("native", 0)))
        self.errors += int(call.get("errors", 0))
        self.times.append(float(call.get("seconds", 0.0)))
        self.walls.append(wall_seconds)
        self.seconds = max(self.seconds, self.times[-1])
        self.sent_bytes += int(call.get("sent_bytes", 0))
        self.native_because.update(call.get("native_because", {}))
        self.bytes += int(call.get("bytes", 0))
        self.histogram.update({int(bound): count for bound, count in call.get("histogram", {}).items() if count})
        self.algorithms.update(call.get("algorithms", {}))
        for by, times in call.get("overlap", {}).items():
            self.overlaps.setdefault(by, []).append(Overlap(**times))


@dataclass
class PlanTraffic:
    """What a kind of plan moved: on the node where it was most, by call; queue pairs and bytes of memory as they are."""

    collective: str
    algorithm: str
    block_bytes: int
    ranks: int
    nodes: int
    calls: int = 0
    sends: float = 0.0
    sent_bytes: float = 0.0
    staged_bytes: float = 0.0
    queue_pairs: int = 0
    memory_bytes: int = 0


@dataclass
class Comparison:
    """Blocking calls of one collective with blocks of `least_bytes` to `most_bytes` (both 0: of any length), timed beside the MPI library's own.

    The counts are the largest over the processes: `windows` of comparing calls, how often the calls were `given_back` to the MPI library because
    that was faster, and `taken_back`. The times are seconds a call in the last window of the first process.
    """

    collective: str
    least_bytes: int
    most_bytes: int
    windows: int
    given_back: int
    taken_back: int
    carried_seconds: float
    native_seconds: float


@dataclass
class JobReport:
    """All that a job counted; `expected` is the size of the largest world seen, `unreadable` names broken files, `ending` says how the job ended."""

    processes: List[Dict[str, Any]]
    calls: List[CallSummary]
    unreadable: List[str]
    traffic: List[PlanTraffic] = field(default_factory=list)
    comparisons: List[Comparison] = field(default_factory=list)
    ending: str = ""

    @property
    def expected(self) -> int:
        """Ranks there should be."""
        return max((int(process.get("world_size", 0)) for process in self.processes), default=0)

    def total(self, name: str, what: str) -> int:
        """Sum over processes and interfaces of `what` ('carried' or 'native') for the call `name`."""
        return sum(sum(getattr(call, what)) for call in self.calls if call.name == name)

    def seconds(self, name: str) -> float:
        """Largest time a process spent inside the call `name`."""
        return max((call.seconds for call in self.calls if call.name == name), default=0.0)


def add_up_traffic(processes: List[Dict[str, Any]]) -> List[PlanTraffic]:
    """Adds up what plans of one kind moved on each host; those with the most bytes on the network come first."""
    of_kind: Dict[Tuple, Dict[str, List[Dict[str, Any]]]] = {}
    for process in processes:
        for plan in process.get("plans", []):
            kind = (plan["collective"], plan["algorithm"], plan["block_bytes"], plan["ranks"], plan["nodes"])
            of_kind.setdefault(kind, {}).setdefault(process.get("host", ""), []).append(plan)
    traffic = []
    for kind, hosts in of_kind.items():
        one = PlanTraffic(*kind, calls=max(plan["calls"] for plans in hosts.values() for plan in plans))
        for plans in hosts.values():
            for what in ("sends", "sent_bytes", "staged_bytes"):
                setattr(one, what, max(getattr(one, what), sum(plan[what] / plan["calls"] for plan in plans)))
            one.queue_pairs = max(one.queue_pairs, sum(plan["queue_pairs"] for plan in plans))
            memory = max(plan["node_bytes"] for plan in plans) + sum(plan["scratch_bytes"] for plan in plans)
            one.memory_bytes = max(one.memory_bytes, memory)
        traffic.append(one)
    return sorted(traffic, key=lambda one: (-one.sent_bytes * one.calls, -one.calls))


def add_up_comparisons(processes: List[Dict[str, Any]]) -> List[Comparison]:
    """One for every collective and length; those that were given back come first."""
    found: Dict[Tuple[str, int], Comparison] = {}
    for process in processes:
        for entry in process.get("compared", []):
            one = Comparison(**entry)
            known = found.setdefault((one.collective, one.least_bytes), one)
            for what in ("windows", "given_back", "taken_back"):
                setattr(known, what, max(getattr(known, what), getattr(one, what)))
    return sorted(found.values(), key=lambda one: (one.taken_back - one.given_back, one.collective, one.least_bytes))


def add_up(processes: List[Dict[str, Any]], unreadable: Tuple[str, ...] = ()) -> JobReport:
    """Adds up the processes' reports; calls come in order of their total count, carried ones first."""
    calls: Dict[Tuple[str, str], CallSummary] = {}
    for process in processes:
        for call in process.get("calls", []):
            key = (call["name"], call.get("interface", "c"))
            calls.setdefault(key, CallSummary(*key)).add(call, float(process.get("wall_seconds", 0)))
    used = [call for call in calls.values() if sum(call.carried) + sum(call.native) + call.errors]
    used.sort(key=lambda call: (-sum(call.carried), -sum(call.native), call.name))
    return JobReport(processes, used, list(unreadable), add_up_traffic(processes), add_up_comparisons(processes))


def read_folder(folder: Path) -> JobReport:
    """Reads every *.json of the folder; a process that was killed may leave half a file, which is named, as is what is no report."""
    processes, unreadable = [], []
    for path in sorted(folder.glob("*.json")):
        try:
            process = parse_json(path.read_text(encoding="utf-8"))
            good = not misfit(process, PROCESS)
            if good:
                add_up([process])  # numbers that make no sense
        except (OSError, ValueError, ArithmeticError, TypeError):
            good = False
        if good:
            processes.append(process)
        else:
            unreadable.append(printable(path.name))
    return add_up(processes, tuple(unreadable))
