"""Running a job and printing what its processes counted."""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional

from crossrail.console import out
from crossrail.errors import CliError
from crossrail.launchers import Job, command_line
from crossrail.report.call_reports import read_folder
from crossrail.report.call_tables import show_report
from crossrail.report.calls_page import render_calls
from crossrail.report.page import check_page, write_page
from crossrail.supervise import supervise


def run_here(job: Job) -> int:
    """Runs the job by its launcher; returns the exit code."""
    return supervise(command_line(job))


@dataclass
class ReportChoice:
    """Where the processes' reports go, and a page of them; None: nowhere that stays."""

    folder: Optional[str] = None
    html: Optional[Path] = None


def run_with_report(job: Job, choice: ReportChoice, start: Callable[[Job], int] = run_here) -> int:
    """Runs the job by `start`, then prints what its processes counted; the folder is kept if the user named it."""
    folder = choice.folder
    check_page(choice.html)
    place = Path(folder).resolve() if folder else Path(tempfile.mkdtemp(prefix="crossrail."))
    if folder and place.is_dir() and any(place.glob("*.json")):
        raise CliError(f"{place} already holds reports; name an empty folder.")
    place.mkdir(parents=True, exist_ok=True)
    job.environment["CROSSRAIL_REPORT"] = str(place)
    try:
        code = start(job)
        report = read_folder(place)
        show_report(report)
        if choice.html:
            write_page(choice.html, render_calls(report))
            out.print(f"The same as a page: {choice.html}")
        return code
    finally:
        if not folder:
            shutil.rmtree(place, ignore_errors=True)
