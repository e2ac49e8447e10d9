"""How much of a run its collective calls take: from the run's length and the time line that every process reports."""

from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from crossrail.report.call_reports import CallSummary, JobReport
from crossrail.sizes import format_count, format_size

SHARE_HEADINGS = ("call", "interface", "least s", "mean s", "most s", "most / mean", "of the run", "sent by all")
SHARE_WORDS = 2  # so many columns first
SHARE_EXPLANATION = ("Seconds a process spent inside the call (or in starting it and waiting for it), waiting for late processes included: the least, the mean and "
                     "the most of the processes that made it. Of the run: the mean, as a part of the process's run.")
REASON_HEADINGS = ("call", "calls of all processes", "left to the MPI library because of")
REASON_WORDS = (0, 2)


def line_seconds(process: Dict[str, Any]) -> float:
    """Seconds this process was inside collective calls at all, by its time line; threads add up."""
    line = process.get("time_line", {})
    return float(sum(line.get("carried", ())) + sum(line.get("native", ())))


@dataclass
class RunTime:
    """A whole job, in seconds.

    `wall`: of the process that ran longest; `inside`: in collective calls, one a process, never more than its own run;
    `unfinished`: processes of which the last report was written while they ran.
    """

    wall: float
    inside: List[float]
    unfinished: int

    @property
    def mean(self) -> float:
        """Mean of `inside`."""
        return sum(self.inside) / len(self.inside)

    @property
    def most_to_gain(self) -> float:
        """No exchange can shorten the run by more: the process that is inside calls for the shortest time does its own work for the rest of the run."""
        return min(self.inside)

    def sentences(self) -> List[str]:
        """What a reader wants to know first."""
        share = [100 * one / self.wall for one in (self.mean, min(self.inside), max(self.inside), self.most_to_gain)]
        said = [f"The run took {self.wall:.2f} s; a process was inside collective calls for {self.mean:.2f} s ({share[0]:.1f} %) in the mean, "
                f"{min(self.inside):.2f} s ({share[1]:.1f} %) to {max(self.inside):.2f} s ({share[2]:.1f} %).",
                f"If exchanges took no time at all, it would be at most {self.most_to_gain:.2f} s ({share[3]:.1f} %) shorter."]
        if self.unfinished:
            said.append(f"{format_count(self.unfinished)} of {format_count(len(self.inside))} processes did not end by themselves (killed, or by _exit): their last "
                        "second or more may be missing.")
        return said


def run_time(report: JobReport) -> Optional[RunTime]:
    """None where no process says how long it ran."""
    known = [process for process in report.processes if float(process.get("wall_seconds", 0)) > 0]
    if not known:
        return None
    inside = [min(line_seconds(process), float(process["wall_seconds"])) for process in known]
    unfinished = sum(not process.get("finished", True) for process in known)
    return RunTime(max(float(process["wall_seconds"]) for process in known), inside, unfinished)


def share_row(call: CallSummary) -> List[str]:
    """One function."""
    mean = sum(call.times) / len(call.times)
    parts = [time / wall for time, wall in zip(call.times, call.walls) if wall > 0]
    return [call.name, call.interface, f"{min(call.times):.3f}", f"{mean:.3f}", f"{max(call.times):.3f}", f"{max(call.times) / mean:.2f}" if mean else "-",
            f"{100 * sum(parts) / len(parts):.1f} %" if parts else "-", format_size(call.sent_bytes) if call.sent_bytes else "-"]


def share_rows(report: JobReport) -> List[List[str]]:
    """Calls with a time, the longest first."""
    timed = [call for call in report.calls if call.seconds > 0]
    return [share_row(call) for call in sorted(timed, key=lambda call: -sum(call.times))]


def reason_rows(report: JobReport) -> List[List[str]]:
    """Why calls were native, those with most calls first within a function."""
    return [[call.name if call.interface == "c" else f"{call.name} ({call.interface})", format_count(count), reason]
            for call in report.calls for reason, count in call.native_because.most_common()]


@dataclass
class SharedLine:
    """For each part of the run, of `part_seconds` each: what part of the processes' time was in carried and in native calls, 0 to 1."""

    part_seconds: float
    carried: List[float]
    native: List[float]


def rebinned(values: List[float], factor: int) -> List[float]:
    """Sums of so many neighbours."""
    return [sum(values[at:at + factor]) for at in range(0, len(values), factor)]


def shared_line(report: JobReport) -> Optional[SharedLine]:
    """The processes' time lines as one. All begin with their process, and their parts are 0.01 s times a power of two."""
    processes = [process for process in report.processes if process.get("time_line")]
    if not processes or not any(line_seconds(process) for process in processes):
        return None
    part = max(float(process["time_line"]["part_seconds"]) for process in processes)
    number = max(1, -int(-max(float(process.get("wall_seconds", 0)) for process in processes) // part))
    sums = {"carried": [0.0] * number, "native": [0.0] * number}
    for process in processes:
        factor = round(part / float(process["time_line"]["part_seconds"]))
        for by, total in sums.items():
            for at, seconds in enumerate(rebinned(process["time_line"][by], factor)[:number]):
                total[at] += seconds
    whole = part * len(processes)
    return SharedLine(part, [min(1.0, one / whole) for one in sums["carried"]], [min(1.0, one / whole) for one in sums["native"]])
