"""A recording has the calls of a job. It is one file made of the processes' reports, and is read again for a replay.

The file is JSON: `ranks`, and for every rank in `processes` its `communicators` (ranks of the world as [first, count, step]), `types` (bytes, and
where there are gaps the extent and the pieces as [offset, bytes, count, stride]), `events` (what was called; `sent` and `received` as
[count, type, for so many neighbouring ranks]) and the `sequence` of events: [event, times, seconds of all gaps before it, seconds inside it], or
loops {"times": n, "body": [...]} of these, in which times and seconds are those of all turns.
"""

import datetime
import json
from pathlib import Path
from typing import Any, Dict, List

from crossrail.errors import CliError
from crossrail.inputs import parse_json
from crossrail.json_shape import Amount, Count, misfit
from crossrail.outputs import write_file
from crossrail.places import FLAVOURS

FORMAT, VERSION = "crossrail recorded calls", 1
OF_A_PROCESS = ("rank", "host", "wall_seconds", "finished")
SHAPE = {"version": int, "program": str, "mpi": str, "flavour": FLAVOURS, "ranks": int, "processes": [
    {"rank": int, "wall_seconds": Amount, "seconds": Amount, "calls": Count, "calls_left_out": Count, "seconds_left_out": Amount, "several_threads": bool,
     "communicators": [{"ranks": [[int]]}], "types": [{"bytes": Count, "extent?": int, "pieces?": [[int]]}], "events": [dict], "sequence": [object]}]}

Recording = Dict[str, Any]


def inside_seconds(process: Dict[str, Any]) -> float:
    """Returns the seconds that this process was inside collective calls, by the time line of its report."""
    line = process.get("time_line", {})
    return float(sum(line.get("carried", ())) + sum(line.get("native", ())))


def in_order(processes: List[Dict[str, Any]], ranks: int) -> bool:
    """Returns whether they are those of so many ranks, each once."""
    return len(processes) == ranks and all(process["rank"] == rank for rank, process in enumerate(processes))


def merge(reports: List[Dict[str, Any]]) -> Recording:
    """Merges the reports of all processes into one recording. Raises CliError if a process is missing or there are several jobs."""
    known = [report for report in reports if report.get("recorded", {}).get("sequence")]
    if not known:
        raise CliError("Nothing was recorded: the program made no collective call that crossrail knows, or did not load crossrail.")
    ranks = max(int(report["world_size"]) for report in known)
    known.sort(key=lambda report: report["rank"])
    if not in_order(known, ranks):
        raise CliError(f"{len(known)} recordings of {ranks} ranks: processes left no report, or belong to several jobs, so nothing can be replayed.")
    first = known[0]
    processes = [{**{what: report[what] for what in OF_A_PROCESS}, "inside_seconds": inside_seconds(report), **report["recorded"]} for report in known]
    return {"format": FORMAT, "version": VERSION, "date": datetime.date.today().isoformat(),
            **{what: first[what] for what in ("crossrail", "program", "mpi", "flavour")}, "ranks": ranks, "processes": processes}


def left_out_sentence(recording: Recording) -> str:
    """Says what the bounded recording could not keep; an empty string means nothing."""
    left = sum(process["calls_left_out"] for process in recording["processes"])
    if not left:
        return ""
    seconds = sum(process["seconds_left_out"] for process in recording["processes"]) / recording["ranks"]
    all_calls = left + sum(process["calls"] for process in recording["processes"])
    return f"{left} of {all_calls} calls of all processes, {seconds:.3g} s of a process, came after the recording was full and are left out."


def write_recording(path: Path, reports: List[Dict[str, Any]]) -> Recording:
    """Writes the file and returns its content. Raises CliError like `merge`, or if the file cannot be written."""
    recording = merge(reports)
    write_file(path, json.dumps(recording, separators=(",", ":")) + "\n")
    return recording


def read_recording(path: Path) -> Recording:
    """Reads the file. Raises CliError if it does not exist or was not written by `crossrail run --record`."""
    try:
        recording = parse_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CliError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError:
        raise CliError(f"{path} is no JSON: name a file that 'crossrail run --record' has written.") from None
    if not isinstance(recording, dict) or recording.get("format") != FORMAT:
        raise CliError(f"{path} holds no recorded calls: name a file that 'crossrail run --record' has written.")
    if recording.get("version", VERSION) != VERSION:
        raise CliError(f"{path} is of version {recording.get('version')}; this crossrail reads version {VERSION}.")
    check_recording(recording)
    return recording


def check_recording(recording: Recording) -> None:
    """Raises CliError if parts are missing or are not what they should be."""
    wrong = misfit(recording, SHAPE)
    if wrong:
        raise CliError(f"The recording is damaged: {wrong}.")
    ranks, processes = recording["ranks"], recording["processes"]
    if ranks < 1 or not in_order(processes, ranks):
        raise CliError(f"The recording is damaged: it is of {ranks} ranks and has the calls of {len(processes)}, or not in their order.")
    for process in processes:
        rows = [row for one in process["communicators"] for row in one["ranks"]]
        if not all(len(row) == 3 and 0 < row[1] <= ranks and all(0 <= end < ranks for end in (row[0], row[0] + (row[1] - 1) * row[2])) for row in rows):
            raise CliError(f"The recording is damaged: a communicator of rank {process['rank']} has ranks that there are not.")
