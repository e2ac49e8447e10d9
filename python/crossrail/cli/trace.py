"""`crossrail trace`."""

from pathlib import Path

import typer

from crossrail.console import out
from crossrail.errors import CliError
from crossrail.outputs import check_files
from crossrail.report.trace import read_parts, trace_sentence, write_trace

TRACE_HELP = """Make one file of the traces of a job's processes.

FOLDER holds the files that CROSSRAIL_TRACE=FOLDER in the job's environment left, one a process, those of a job that was killed too; 'crossrail run
--trace FILE' does both. FILE is for https://ui.perfetto.dev and chrome://tracing.

\b
Example:
  crossrail trace traces trace.json
"""


def trace_command(
    folder: Path = typer.Argument(..., help="Folder of the processes' files.", show_default=False),
    file: Path = typer.Argument(..., help="The trace to write.", show_default=False),
) -> None:
    """See TRACE_HELP."""
    if not folder.is_dir():
        raise CliError(f"There is no folder {folder}.")
    check_files(file, read=folder.glob("*.trace"))
    parts = read_parts(folder)
    if not parts:
        raise CliError(f"{folder} holds no trace of a process (*.trace).")
    write_trace(file, parts)
    out.print(trace_sentence(file, parts), soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command("trace", help=TRACE_HELP)(trace_command)
