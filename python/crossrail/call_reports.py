"""What the processes of a job counted: reading the files of CROSSRAIL_REPORT and adding them up."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Tuple


@dataclass
class CallSummary:
    """One MPI function through one interface ('c' or 'fortran'), over all processes that called it.

    `carried` and `native` have one count a process; `seconds` is the largest over the processes; `histogram`
    maps the upper bound of the block size in bytes to calls, summed over processes, as are `bytes` and
    `algorithms` (name to calls).
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

    def add(self, call: Dict[str, Any]) -> None:
        """Adds one process's entry."""
        self.carried.append(int(call.get("carried", 0)))
        self.native.append(int(call.get("native", 0)))
        self.errors += int(call.get("errors", 0))
        self.seconds = max(self.seconds, float(call.get("seconds", 0.0)))
        self.bytes += int(call.get("bytes", 0))
        self.histogram.update({int(bound): count for bound, count in call.get("histogram", {}).items()})
        self.algorithms.update(call.get("algorithms", {}))


@dataclass
class JobReport:
    """All that a job counted; `expected` is the size of the largest world seen, `unreadable` names broken files."""

    processes: List[Dict[str, Any]]
    calls: List[CallSummary]
    unreadable: List[str]

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


def add_up(processes: List[Dict[str, Any]], unreadable: Tuple[str, ...] = ()) -> JobReport:
    """Adds up the processes' reports; calls come in order of their total count, carried ones first."""
    calls: Dict[Tuple[str, str], CallSummary] = {}
    for process in processes:
        for call in process.get("calls", []):
            key = (call["name"], call.get("interface", "c"))
            calls.setdefault(key, CallSummary(*key)).add(call)
    used = [call for call in calls.values() if sum(call.carried) + sum(call.native) + call.errors]
    used.sort(key=lambda call: (-sum(call.carried), -sum(call.native), call.name))
    return JobReport(processes, used, list(unreadable))


def read_folder(folder: Path) -> JobReport:
    """Reads every *.json of the folder; a process that was killed may leave half a file, which is named."""
    processes, unreadable = [], []
    for path in sorted(folder.glob("*.json")):
        try:
            processes.append(json.loads(path.read_text()))
        except (OSError, ValueError):
            unreadable.append(path.name)
    return add_up(processes, tuple(unreadable))
