"""This module runs the bench program `replay` under its launcher and evaluates its turns."""

import json
import math
import statistics
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from crossrail.bench.recording import Recording
from crossrail.bench.replay_program import replay_program
from crossrail.bench.request import Where
from crossrail.bench.run import Starter, chosen_flavour, chosen_launcher, words_of_peers
from crossrail.errors import CliError, Stopped
from crossrail.job_folder import job_folder
from crossrail.launchers import Job, own_settings, preload_value
from crossrail.places import bench_program, built_flavours, preload_library
from crossrail.supervise import Interruptions

FEWEST_TURNS = 6  # A median of so many has a 95 % confidence interval.
WRONG = 1  # It is the exit code of the bench program if results differ.


@dataclass(frozen=True)
class ReplayChoice:
    """Allows at most `turns` of each kind and `most_seconds` for all after the first turn; `gaps` says whether to wait for the program's own work."""

    turns: int = 7
    most_seconds: float = 60
    gaps: bool = True


@dataclass(frozen=True)
class Median:
    """Has the median of values in seconds and the bounds of its 95 % confidence interval (None for fewer than six values)."""

    value: float
    low: Optional[float]
    high: Optional[float]


def median_of(values: List[float]) -> Median:
    """Uses order statistics, whatever the distribution is."""
    ordered, count = sorted(values), len(values)
    below, first = 0.0, 0
    while first < count // 2:
        below += math.comb(count, first) / 2 ** count
        if below > 0.025:
            break
        first += 1
    bounds = (ordered[first - 1], ordered[count - first]) if first else (None, None)
    return Median(statistics.median(ordered), *bounds)


@dataclass(frozen=True)
class Line:
    """Describes one kind of call, or all: the mean calls of a rank, and the mean seconds of a rank inside them, native and with crossrail."""

    name: str
    calls: float
    native: Median
    crossrail: Median
    gain: Median  # It is native minus crossrail of the same turn.

    @property
    def certain(self) -> bool:
        """Returns whether the interval of the gain excludes 0."""
        return self.gain.low is not None and (self.gain.low > 0 or self.gain.high < 0)


def line(name: str, calls: float, native: List[float], carried: List[float]) -> Line:
    """Makes a line of one value per turn of each kind."""
    return Line(name, calls, median_of(native), median_of(carried), median_of([one - other for one, other in zip(native, carried)]))


def lines(replayed: Dict[str, Any]) -> List[Line]:
    """Returns a line for every kind of call that was made, in the catalogue's order; the last one is for all calls."""
    found = []
    for place, name in enumerate(replayed["names"]):
        native, carried = ([turn["inside"][place] for turn in replayed[kind]] for kind in ("native", "crossrail"))
        if replayed["calls"][place] or any(native):
            found.append(line(f"MPI_{name.capitalize()}", replayed["calls"][place] / replayed["ranks"], native, carried))
    native, carried = ([sum(turn["inside"]) for turn in replayed[kind]] for kind in ("native", "crossrail"))
    return [*found, line("all", sum(replayed["calls"]) / replayed["ranks"], native, carried)]


def own_seconds(recording: Recording) -> Tuple[float, float]:
    """Returns (wall time of the recorded run, the part of it outside the recorded calls) in seconds, as means over the ranks."""
    walls = [process["wall_seconds"] for process in recording["processes"]]
    outside = [process["wall_seconds"] - process["seconds"] for process in recording["processes"]]
    return statistics.mean(walls), max(0.0, statistics.mean(outside))


def replay_job(recording: Recording, where: Where) -> Job:
    """Returns the job of the bench program, without its options, with crossrail preloaded. The flavour is the recorded one if it is built."""
    flavour = where.flavour or (recording["flavour"] if recording["flavour"] in built_flavours() else chosen_flavour(None))
    place = Where(where.ranks, flavour, where.launcher, where.launcher_words, where.hosts, where.environment)
    environment = {**own_settings(), **where.environment, "LD_PRELOAD": preload_value(preload_library(flavour))}
    return Job(chosen_launcher("replay", place), where.ranks, [str(bench_program("replay", flavour))], list(where.launcher_words), environment)


def replay(recording: Recording, where: Where, choice: ReplayChoice = ReplayChoice()) -> Dict[str, Any]:
    """Runs the recorded calls in turns; returns the bench program's JSON with the means of the recorded run.

    Raises CliError if the recording cannot be replayed or the program fails, and Stopped if the user stops it.
    """
    if where.ranks != recording["ranks"]:
        raise CliError(f"The calls of {recording['ranks']} ranks were recorded: they can be replayed on as many only, not {where.ranks}.")
    text = replay_program(recording)
    job = replay_job(recording, where)
    with job_folder(job.launcher, job.launcher_words) as folder, Interruptions() as interruptions, Starter(where.hosts, where.ranks) as start:
        program, output = folder / "calls", folder / "replayed.json"
        program.write_text(text)
        job.program += ["--program", str(program), "--output", str(output), "--turns", str(choice.turns), "--max-time", str(choice.most_seconds)]
        job.program += [] if choice.gaps else ["--no-gaps"]
        with open(folder / "printed", "w+", encoding="utf-8", errors="replace") as printed:
            code = start(job, printed)
            printed.seek(0)
            said = printed.read().strip()
        if interruptions.any():
            raise Stopped("Stopped: nothing is kept.")
        if not output.exists() or code not in (0, WRONG):
            own = words_of_peers(said)
            raise CliError("\n".join(one.removeprefix("bench: ") for one in own) if own else f"The bench program failed (exit code {code}).\n{said}")
        replayed = json.loads(output.read_text())
    wall, outside = own_seconds(recording)
    replayed.update({"program": recording["program"], "wall_seconds": wall, "outside_seconds": outside})
    return replayed
