"""`crossrail report`."""

from pathlib import Path
from typing import Optional

import typer

from crossrail.console import out
from crossrail.errors import CliError
from crossrail.outputs import check_files, write_file
from crossrail.report.call_csv import call_csv
from crossrail.report.call_reports import read_folder
from crossrail.report.call_tables import show_report
from crossrail.report.calls_page import render_calls

REPORT_HELP = """Show what the processes of a job counted.

FOLDER holds the files that 'crossrail run --report-folder FOLDER' or CROSSRAIL_REPORT=FOLDER in the job's environment left:
one a process, written at its first call and replaced while the program runs, in the end about once a second, so that a job that was
killed or has crashed has them, too.

\b
Examples:
  crossrail report reports
  crossrail report reports --html report.html --csv calls.csv
"""


def report_command(
    folder: Path = typer.Argument(..., help="Folder of the processes' files.", show_default=False),
    html: Optional[Path] = typer.Option(None, "--html", help="Write the report to this file, too, as a page.", show_default=False),
    csv: Optional[Path] = typer.Option(None, "--csv", help="Write a line for every process and function to this file.", show_default=False),
) -> None:
    """See REPORT_HELP."""
    if not folder.is_dir():
        raise CliError(f"There is no folder {folder}.")
    check_files(html, csv, read=folder.glob("*.json"))
    report = read_folder(folder)
    if not report.processes:
        left = f": {', '.join(report.unreadable[:3])} {'is' if len(report.unreadable) == 1 else 'are'} none, or incomplete" if report.unreadable else " (*.json)"
        raise CliError(f"{folder} holds no report of a process{left}.")
    show_report(report)
    if html:
        write_file(html, render_calls(report))
        out.print(f"The same as a page: {html}")
    if csv:
        write_file(csv, call_csv(report))
        out.print(f"A line for every process and function: {csv}")


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command("report", help=REPORT_HELP)(report_command)
