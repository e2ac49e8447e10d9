"""`crossrail bench`: crossrail against the native MPI on this machine."""

import json
import re
from pathlib import Path
from typing import List, Optional

import typer
from rich.table import Table
from rich.text import Text

from crossrail.cli.console import out
from crossrail.launchers import core_count
from crossrail.measure import BenchRequest, measure
from crossrail.measurements import Measurement, caveats, compare, contenders, lag_behind_alltoall, small_speedup, title, verdict, wrong_blocks
from crossrail.page import render_page
from crossrail.problem import Problem
from crossrail.sizes import format_size, format_time_us, parse_size

BENCH_HELP = """Measure crossrail against the native MPI: same run, taking turns, data checked.

Contenders (--algorithms): native, auto (crossrail's own choice), or algorithms of 'crossrail list', with parameters
if need be; for alltoallv also alltoall, which makes the same exchange where no block is empty.
--peer adds a function of another library with the signature of the collective; what it calls under an MPI_ name
that crossrail takes over goes to crossrail, so that a peer to be measured on its own has to call PMPI_.

\b
Examples:
  crossrail bench alltoall -n 8
  crossrail bench alltoall -n 8 --max 64K --algorithms "native,auto,bruck,node_shared packet=512"
  crossrail bench alltoallv -n 8 --algorithms native,auto,alltoall
  crossrail bench alltoallv -n 8 --empty 90 --max-time 60
  crossrail bench alltoall -H 4 -n 56
  crossrail bench alltoall -H 4 -n 56 --max 1K --peer theirs=/path/libtheirs.so:their_alltoall
  crossrail bench alltoall -n 56 --html report.html --machine "cluster A" -- --bind-to core

The exit code is 1 when any byte was wrong.
"""


def comparison_table(measurement: Measurement, contender: str) -> Table:
    """Medians by size, native against `contender`."""
    name = "crossrail" if contender == "auto" else contender
    table = Table()
    for heading in ("block", "native p50 µs", f"{name} p50 µs", "native p99", f"{name} p99", "times faster"):
        table.add_column(heading, justify="right")
    table.add_column("algorithm")
    table.add_column("data")
    for one in compare(measurement, contender):
        checked = "right" if measurement.get("checked") else "not checked"
        table.add_row(format_size(one.bytes), format_time_us(one.native["p50_us"]), format_time_us(one.own["p50_us"]),
                      format_time_us(one.native["p99_us"]), format_time_us(one.own["p99_us"]),
                      Text(f"{one.speedup:.2f}", "green" if one.speedup >= 1 else "yellow"), one.own["algorithm"],
                      Text(f"{one.wrong} wrong", "bold red") if one.wrong else checked)
    return table


def show_measurement(measurement: Measurement) -> None:
    """Prints a table for every contender, the mean of the small sizes, and what limits the numbers."""
    out.print(Text(title(measurement), "bold"))
    for name in contenders(measurement):
        if name == "native":
            continue
        out.print(comparison_table(measurement, name))
        small = small_speedup(compare(measurement, name))
        if small:
            out.print(Text(f"{'crossrail' if name == 'auto' else name}, 1 B to 1 KiB: {small:.2f} times faster than native (geometric mean).", "bold"))
    lag = lag_behind_alltoall(measurement)
    if lag:
        out.print(Text(lag, "bold"))
    out.print(Text(verdict(measurement), "bold red" if wrong_blocks(measurement) else "green"))
    for note in caveats(measurement):
        out.print(Text(note, "dim"))


def save_measurement(measurement: Measurement, folder: Path) -> Path:
    """Writes the JSON as COLLECTIVE_FLAVOUR_RANKSxNODES_MACHINE.json; returns its path."""
    machine = measurement["machine"].get("name") or measurement["machine"].get("host", "machine")
    plain_name = re.sub(r"[^a-z0-9]+", "_", machine.lower()).strip("_")
    empty = f"{measurement['empty_percent']}empty_" if measurement.get("empty_percent") else ""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (f"{measurement['collective']}_{measurement['flavour']}_{measurement['ranks']}ranks_"
                     f"{measurement['nodes']}nodes_{empty}{plain_name}.json")
    path.write_text(json.dumps(measurement, indent=1) + "\n")
    return path


def bench_command(
    context: typer.Context,
    collective: str = typer.Argument(..., help="The collective: alltoall or alltoallv."),
    ranks: int = typer.Option(core_count(), "-n", "--ranks", help="Number of ranks; the cores of this machine if not given."),
    hosts: Optional[int] = typer.Option(None, "-H", "--hosts", help="On a cluster of so many hosts that lives on this machine; see 'crossrail cluster --help'.", show_default=False),
    flavour: Optional[str] = typer.Option(None, "--mpi", help="Flavour of MPI: openmpi, mpich or abi; the first one built if not given.", show_default=False),
    launcher: Optional[str] = typer.Option(None, "--launcher", help="mpirun, mpiexec or srun to use.", show_default=False),
    smallest: str = typer.Option("1", "--min", help="Smallest block, from one rank to one other."),
    largest: str = typer.Option("1M", "--max", help="Largest block."),
    algorithms: str = typer.Option("native,auto", "--algorithms", help="Contenders, separated by commas."),
    peers: List[str] = typer.Option([], "--peer", help="Another contender: NAME=LIBRARY:SYMBOL, a function of a shared library. May be repeated.", show_default=False),
    repetitions: Optional[int] = typer.Option(None, "--repetitions", help="Repetitions of every size.", show_default=False),
    empty: int = typer.Option(0, "--empty", min=0, max=100, help="Percent of the blocks that are empty (alltoallv)."),
    most_seconds: Optional[float] = typer.Option(None, "--max-time", help="Seconds for all; large sizes are left out when they are over.", show_default=False),
    output: Optional[Path] = typer.Option(None, "--output", help="Folder for the result (JSON).", show_default=False),
    html: Optional[Path] = typer.Option(None, "--html", help="Write a page with plots to this file.", show_default=False),
    machine: Optional[str] = typer.Option(None, "--machine", help="Name of this machine, for the page and the result.", show_default=False),
) -> None:
    """See BENCH_HELP."""
    if ranks < 2:
        raise Problem("An alltoall needs at least 2 ranks: -n 2.")
    if empty and collective != "alltoallv":
        raise Problem(f"All blocks of {collective} are equally long: --empty is for alltoallv.")
    names = algorithms.split(",")
    request = BenchRequest(collective, ranks, flavour, launcher, context.obj.launcher, parse_size(smallest), parse_size(largest),
                           ",".join(names if "native" in names else ["native", *names]), repetitions, hosts, empty,
                           most_seconds=most_seconds, peers=peers)
    with out.status(f"measuring {collective} on {ranks} ranks…"):
        measurement = measure(request, machine)
    show_measurement(measurement)
    if output:
        out.print(f"Saved as {save_measurement(measurement, output)}.")
    if html:
        html.write_text(render_page("crossrail against the native MPI", "", [measurement]))
        out.print(f"Plots in {html}.")
    raise typer.Exit(1 if wrong_blocks(measurement) else 0)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command("bench", help=BENCH_HELP)(bench_command)
