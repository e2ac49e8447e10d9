"""`crossrail timeline`."""

from pathlib import Path
from typing import List, Optional

import typer

from crossrail.console import out
from crossrail.errors import CliError
from crossrail.inputs import printable
from crossrail.outputs import check_files, write_file
from crossrail.report.call_timeline import Wanted, read_timeline
from crossrail.report.timeline_drawing import draw_timelines
from crossrail.sizes import format_time_us

TIMELINE_HELP = """Draw one call of one rank out of one trace or several, below each other over one axis of time.

TRACE... are files of 'crossrail run --trace' or 'crossrail cluster --trace'. The drawing shows the parts of the call, its messages, its work on GPUs, and
where it waits. Without --number it is the call of median duration among those of the most common size and algorithm.

\b
Examples:
  crossrail timeline trace.json --picture call.svg
  crossrail timeline a.json b.json --label messages --label GPUs --picture calls.svg
  crossrail timeline trace.json --call MPI_Allreduce --rank 3 --number 10 --picture call.svg
"""


def one_each(given: Optional[List], count: int, option: str) -> List:
    """What was given for each trace, or None for each. Raises CliError for more or fewer."""
    if not given:
        return [None] * count
    if len(given) != count:
        there, times = "is 1 trace" if count == 1 else f"are {count} traces", "once" if len(given) == 1 else f"{len(given)} times"
        raise CliError(f"There {there}, and {option} is given {times}: give it once for each, in their order, or not at all.")
    return given


def timeline_command(
    traces: List[Path] = typer.Argument(..., metavar="TRACE...", help="Traces to draw a call of.", show_default=False),
    picture: Path = typer.Option(..., "--picture", help="The drawing (SVG) to write.", show_default=False),
    call: str = typer.Option("MPI_Alltoall", "--call", help="Function of MPI."),
    rank: int = typer.Option(0, "--rank", min=0, help="Rank in MPI_COMM_WORLD."),
    number: Optional[List[int]] = typer.Option(None, "--number", min=1, help="Which of the calls, from 1 on; once for each trace.", show_default=False),
    label: Optional[List[str]] = typer.Option(None, "--label", help="Heading of a trace; once for each, their files' names if not given.", show_default=False),
) -> None:
    """See TIMELINE_HELP."""
    if picture.suffix.lower() != ".svg":
        raise CliError(f"The drawing is SVG: name a file that ends in .svg, not {picture.name}.")
    numbers, labels = one_each(number, len(traces), "--number"), one_each(label, len(traces), "--label")
    check_files(picture, read=traces)
    timelines = [read_timeline(path, Wanted(rank, call, which), printable(name or "")) for path, which, name in zip(traces, numbers, labels)]
    write_file(picture, draw_timelines(timelines))
    for one in timelines:
        out.print(f"{one.label}: call {one.number} of {one.calls} of {call} by rank {rank}, {format_time_us(one.duration)} µs", soft_wrap=True, markup=False)
    out.print(f"Drawn in {picture}.", soft_wrap=True, markup=False)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command("timeline", help=TIMELINE_HELP)(timeline_command)
