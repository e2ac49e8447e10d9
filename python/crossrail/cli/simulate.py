"""`crossrail simulate`."""

import json
from pathlib import Path
from typing import List, Optional

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from crossrail.bench.request import check_seconds
from crossrail.collectives import any_of
from crossrail.console import out, warn
from crossrail.errors import EXIT_CODE, Stopped
from crossrail.outputs import check_files, write_file
from crossrail.report.simulation_page import render_simulation
from crossrail.report.simulation_tables import show_simulation
from crossrail.simulation.job import Result, runs_of, simulate
from crossrail.simulation.machine_file import machine_names, machine_path, read_machine
from crossrail.simulation.peers import PEERS
from crossrail.simulation.request import (COLLECTIVES, PRESET_NODES, Options, Request, check_collective, check_request, check_setting, parse_late,
                                          parse_nodes, parse_placement, parse_specs, sizes_of)
from crossrail.sizes import parse_size

SIMULATE_HELP = f"""Simulate a collective on a machine that is not here, with as many nodes as you like.

crossrail's own code runs, unchanged, on simulated ranks in simulated time; a machine file says what each step costs. Times are predictions, never measurements.
--machine names such a file, or one of those that come with crossrail: {', '.join(machine_names()) or 'none here'}.
Where the file has ranges, for numbers that nobody could measure, each run is made twice, with all favourable and all unfavourable ends, and
tables show both. With --transport best reliable connections (rc), datagrams (ud) and dynamic connections (dc) are simulated, and the fastest
counts in each cell.

\b
Examples:
  crossrail simulate alltoall --machine ohio_cluster_a --nodes 2,4,8
  crossrail simulate alltoall --machine ohio_cluster_a --nodes 128 --ranks-per-node 56 --sizes 8-512 --html alltoall.html
  crossrail simulate alltoall --machine mine.toml --algorithms "matrix_block,leader_pipelined leaders=1 ahead=1,auto" --json result.json
  crossrail simulate alltoall --machine mine.toml --nodes 8,16,32 --algorithms "auto,openmpi5,mpich"
  crossrail simulate allreduce --machine mine.toml --nodes 16 --sizes 8,1K-64K --placement cyclic
  crossrail simulate alltoall --machine mine.toml --nodes 64 --late 0:500 --setting CROSSRAIL_SCRATCH=256M

The peers openmpi5 and mpich are the choice of algorithms that these libraries have published for alltoall, with crossrail's own code for each.
Ratios are to the first algorithm. Blocks up to --check-up-to are moved, and all data compared; larger ones are charged only.
Ctrl-C and the end of --time-limit keep what was ready, in the files asked for, too.

The exit code is 1 when any data were wrong, 130 after Ctrl-C, 2 when nothing could be simulated, or not all of it.
"""


def progress_bar() -> Progress:
    """A bar on standard error with an estimate of the time left."""
    return Progress(TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True)


def simulated(request: Request) -> Result:
    """The result of the request; meanwhile a bar shows how far it is."""
    with progress_bar() as progress:
        bar = progress.add_task(f"simulating {request.collective}", total=len(runs_of(request)))
        return simulate(request, lambda done, words: progress.update(bar, completed=done, description=f"simulating {request.collective}: {words}"))


def conclude(result: Result, json_file: Optional[Path], html: Optional[Path]) -> int:
    """Shows the result, writes the files asked for, and returns the exit code."""
    if result["results"] or result["missing"]:
        show_simulation(result)
        if json_file:
            write_file(json_file, json.dumps(result, indent=1) + "\n")
            out.print(f"The result: {json_file}.", soft_wrap=True)
        if html:
            write_file(html, render_simulation(result))
            out.print(f"Plots in {html}.", soft_wrap=True)
    return code_of(result)


def code_of(result: Result) -> int:
    """The exit code: 1 where data were wrong, 130 where the user stopped it, 2 where it failed or nothing is there."""
    kept = "What was ready is kept." if result["results"] or result["missing"] else "Nothing was ready."
    if result.get("stopped"):
        warn(f"Stopped. {kept}")
        return 1 if result.get("wrong") else Stopped.exit_code
    if result.get("wrong"):
        return 1
    if result.get("failed"):
        warn(f"{result['failed']} {kept}")
        return EXIT_CODE
    if result.get("time_over"):
        warn(f"The time was over. {kept}")
    return 0 if result["results"] else EXIT_CODE


def simulate_command(
    collective: str = typer.Argument(..., help=f"The call: {any_of(list(COLLECTIVES))}.", show_default=False),
    machine: str = typer.Option(..., "--machine", help="A machine file, or the name of one that comes with crossrail.", show_default=False),
    nodes: Optional[str] = typer.Option(None, "--nodes", help="Numbers of nodes, separated by commas; those of the machine file if not given.", show_default=False),
    ranks_per_node: Optional[int] = typer.Option(None, "--ranks-per-node", help="Ranks on each node; as the machine file says if not given.", show_default=False),
    algorithms: str = typer.Option("auto", "--algorithms", help=f"Algorithms of 'crossrail list', with parameters if need be, auto, and peers ({', '.join(PEERS)}), separated by commas."),
    sizes: Optional[str] = typer.Option(None, "--sizes", help="Sizes of blocks: 8-512 (each twice the one before), or 8,64,1K-4K; those of the machine file if not given.", show_default=False),
    calls: int = typer.Option(2, "--calls", min=1, max=1000, help="Calls timed for each size, after one that makes the plan."),
    check_up_to: str = typer.Option("64", "--check-up-to", help="Largest block whose data are moved and compared; 0: none."),
    transport: Optional[str] = typer.Option(None, "--transport", help="rc, ud, dc or best, in place of what the machine file says.", show_default=False),
    placement: str = typer.Option("blocks", "--placement", help="Of ranks on nodes: blocks, cyclic, random or random:SEED."),
    late: Optional[str] = typer.Option(None, "--late", help="A rank that begins each call late, and by how many microseconds: 0:500.", show_default=False),
    tuning: Optional[Path] = typer.Option(None, "--tuning", help="A tuning table, as in CROSSRAIL_TUNING.", show_default=False),
    settings: List[str] = typer.Option([], "--setting", help="A setting of crossrail's: CROSSRAIL_SCRATCH=64M. May be repeated.", show_default=False),
    most_seconds: Optional[float] = typer.Option(None, "--time-limit", help="Seconds for all of it; what is ready by then is kept.", show_default=False),
    json_file: Optional[Path] = typer.Option(None, "--json", help="Write the result to this file.", show_default=False),
    html: Optional[Path] = typer.Option(None, "--html", help="Write a page with plots to this file.", show_default=False),
) -> None:
    """See SIMULATE_HELP."""
    check_collective(collective)
    file = machine_path(machine)
    check_files(json_file, html, read=[file, *([tuning] if tuning else [])])
    check_seconds("--time-limit", most_seconds)
    read = read_machine(file)
    counts = parse_nodes(nodes) if nodes is not None else read.nodes or PRESET_NODES
    ranks = read.ranks_per_node if ranks_per_node is None else ranks_per_node
    options = Options(calls, parse_size(check_up_to), parse_placement(placement), tuning, parse_late(late, min(counts) * ranks),
                      tuple(map(check_setting, settings)), most_seconds)
    request = Request(collective, read, counts, ranks, parse_specs(collective, algorithms), sizes_of(read, sizes), transport or read.kind, options)
    raise typer.Exit(conclude(simulated(check_request(request)), json_file, html))


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command("simulate", help=SIMULATE_HELP)(simulate_command)
