"""Running a job and printing what its processes counted."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

from crossrail.bench.recording import left_out_sentence, write_recording
from crossrail.console import out, warn
from crossrail.errors import CliError
from crossrail.launchers import Job, command_line
from crossrail.outputs import write_file
from crossrail.report.call_reports import read_folder
from crossrail.report.call_tables import show_report
from crossrail.report.calls_page import render_calls
from crossrail.supervise import supervise


def run_here(job: Job) -> int:
    """Runs the job by its launcher; returns the exit code."""
    return supervise(command_line(job))


@dataclass
class ReportChoice:
    """Where the processes' reports go, a page of them, and the file of recorded calls; None: nowhere that stays. `shown`: on the terminal."""

    folder: Optional[str] = None
    html: Optional[Path] = None
    record: Optional[Path] = None
    shown: bool = True


def keep_recording(path: Path, processes: List[Dict[str, Any]], code: int) -> None:
    """Writes the file of recorded calls; of a program that has failed its exit code matters more than that there is nothing to write."""
    try:
        recording = write_recording(path, processes)
    except CliError as error:
        if not code:
            raise
        warn(str(error))
        return
    out.print(" ".join(filter(None, [f"The calls of {recording['ranks']} ranks: {path}.", left_out_sentence(recording)])), soft_wrap=True)


def run_with_report(job: Job, choice: ReportChoice, start: Callable[[Job], int] = run_here) -> int:
    """Runs the job by `start`, then prints what its processes counted; the folder is kept if the user named it."""
    folder = choice.folder
    place = Path(folder).resolve() if folder else Path(tempfile.mkdtemp(prefix="crossrail."))
    if folder and place.is_dir() and any(place.glob("*.json")):
        raise CliError(f"{place} already holds reports; name an empty folder.")
    place.mkdir(parents=True, exist_ok=True)
    job.environment["CROSSRAIL_REPORT"] = str(place)
    if choice.record:
        job.environment["CROSSRAIL_RECORD"] = "1"
    try:
        code = start(job)
        report = read_folder(place)
        if choice.shown:
            show_report(report)
        if choice.html:
            write_file(choice.html, render_calls(report))
            out.print(f"The same as a page: {choice.html}")
        if choice.record:
            keep_recording(choice.record, report.processes, code)
        return code
    finally:
        if not folder:
            shutil.rmtree(place, ignore_errors=True)
