"""Running a job and printing what its processes counted."""

import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

from crossrail.bench.recording import left_out_sentence, write_recording
from crossrail.console import out
from crossrail.errors import CliError
from crossrail.job_folder import job_folder
from crossrail.launchers import Job, command_line
from crossrail.outputs import check_folder, result_kept, write_file
from crossrail.report.call_reports import JobReport, read_folder
from crossrail.report.call_tables import show_report
from crossrail.report.calls_page import render_calls
from crossrail.supervise import ending, supervise


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


def keep_page(path: Path, report: JobReport) -> None:
    """Writes the report as a page. Raises CliError."""
    write_file(path, render_calls(report))
    out.print(f"The same as a page: {path}")


def keep_recording(path: Path, processes: List[Dict[str, Any]]) -> None:
    """Writes the file of recorded calls. Raises CliError, also where there are none."""
    recording = write_recording(path, processes)
    out.print(" ".join(filter(None, [f"The calls of {recording['ranks']} ranks: {path}.", left_out_sentence(recording)])), soft_wrap=True)


@contextmanager
def kept_folder(name: str) -> Iterator[Path]:
    """The folder that the user has named, made where there is none. Raises CliError where it has reports already, or another job is under way that
    will leave some there."""
    folder = Path(os.path.realpath(name))
    if folder.is_dir() and any(folder.glob("*.json")):
        raise CliError(f"{folder} already holds reports; name an empty folder.")
    check_folder(folder, made=True)
    folder.mkdir(parents=True, exist_ok=True)
    held = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            hold(held, folder)
        yield folder
    finally:
        os.close(held)


def hold(held: int, folder: Path) -> None:
    """Keeps others from naming the same folder. Raises CliError where somebody does so already."""
    try:
        flock(held, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        raise CliError(f"Another job is about to leave its reports in {folder}; name an empty folder.") from None


def run_with_report(job: Job, choice: ReportChoice, start: Callable[[Job], int] = run_here) -> int:
    """Runs the job by `start`, then prints what its processes counted; the folder is kept if the user named it."""
    with kept_folder(choice.folder) if choice.folder else job_folder(job.launcher, job.launcher_words) as place:
        job.environment["CROSSRAIL_REPORT"] = str(place)
        if choice.record:
            job.environment["CROSSRAIL_RECORD"] = "1"
        code = start(job)
        report = read_folder(place)
        report.ending = ending(code, job.launcher.family == "hydra")
        if choice.shown:
            show_report(report)
        if choice.html:
            code = result_kept(lambda: keep_page(choice.html, report), code)
        if choice.record:
            code = result_kept(lambda: keep_recording(choice.record, report.processes), code)
        return code
