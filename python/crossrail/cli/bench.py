"""`crossrail bench`: crossrail against the native MPI on this machine."""

import json
import re
from pathlib import Path
from typing import List, Optional

import typer
from rich.table import Table
from rich.text import Text

from crossrail.cli.console import out
from crossrail.cli.device_view import show_device_measurement
from crossrail.device_bench import contender_names, device_peers, gpu_count, takes_device_memory
from crossrail.launchers import core_count
from crossrail.measure import BenchRequest, chosen_flavour, chosen_launcher, measure
from crossrail.measurements import (Measurement, caveats, compare, lag_behind_alltoall, on_device, reference, rivals, small_speedup, title, verdict,
                                    wrong_blocks)
from crossrail.page import render_page
from crossrail.problem import Problem
from crossrail.sizes import format_size, format_time_us, parse_size

BENCH_HELP = """Measure crossrail against the native MPI: same run, taking turns, data checked.

Contenders (--algorithms): native, auto (crossrail's own choice), or algorithms of 'crossrail list', with parameters
if need be; 'all' is auto and all of them that are for this memory; for alltoallv also alltoall, which makes the same exchange where no block is empty.
--peer adds a function of another library with the signature of the collective; what it calls under an MPI_ name
that crossrail takes over goes to crossrail, so that a peer to be measured on its own has to call PMPI_.
With --memory cuda the buffers are in the GPUs' memory, one GPU a rank. NCCL's ways of an alltoall, and what the copy
engines reach by themselves, are then contenders too; native only where the MPI library is CUDA-aware.

\b
Examples:
  crossrail bench alltoall -n 8
  crossrail bench alltoall -n 8 --max 64K --algorithms "native,auto,bruck,node_shared packet=512"
  crossrail bench alltoallv -n 8 --algorithms native,auto,alltoall
  crossrail bench alltoallv -n 8 --empty 90 --max-time 60
  crossrail bench alltoall -H 4 -n 56
  crossrail bench alltoall -H 4 -n 56 --max 1K --peer theirs=/path/libtheirs.so:their_alltoall
  crossrail bench alltoall --memory cuda --algorithms all --min 16 --max 64M --step sqrt2
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


def show_host_measurement(measurement: Measurement) -> None:
    """Prints a table for every contender, and the mean of the small sizes."""
    for name in rivals(measurement):
        out.print(comparison_table(measurement, name))
        small = small_speedup(compare(measurement, name))
        if small:
            out.print(Text(f"{'crossrail' if name == 'auto' else name}, 1 B to 1 KiB: {small:.2f} times faster than native (geometric mean).", "bold"))


def show_measurement(measurement: Measurement) -> None:
    """Prints the tables, and what limits the numbers."""
    out.print(Text(title(measurement), "bold"))
    (show_device_measurement if on_device(measurement) else show_host_measurement)(measurement)
    lag = lag_behind_alltoall(measurement)
    if lag:
        out.print(Text(lag, "bold"))
    out.print(Text(verdict(measurement), "bold red" if wrong_blocks(measurement) else "green"))
    for note in caveats(measurement):
        out.print(Text(note, "dim"))


def save_measurement(measurement: Measurement, folder: Path) -> Path:
    """Writes the JSON as COLLECTIVE_FLAVOUR_RANKSranks_NODESnodes_MACHINE.json; returns its path."""
    machine = measurement["machine"].get("name") or measurement["machine"].get("host", "machine")
    plain_name = re.sub(r"[^a-z0-9]+", "_", machine.lower()).strip("_")
    empty = f"{measurement['empty_percent']}empty_" if measurement.get("empty_percent") else ""
    memory = f"{measurement['memory']}_" if on_device(measurement) else ""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (f"{measurement['collective']}_{measurement['flavour']}_{measurement['ranks']}ranks_"
                     f"{measurement['nodes']}nodes_{memory}{empty}{plain_name}.json")
    path.write_text(json.dumps(measurement, indent=1) + "\n")
    return path


def check_request(request: BenchRequest) -> None:
    """Raises Problem for a request that cannot be measured."""
    if request.memory not in ("host", "cuda") or request.step not in (None, "2", "sqrt2"):
        raise Problem("The memory is host or cuda, the step 2 or sqrt2.")
    if request.ranks < 2:
        raise Problem("An alltoall needs at least 2 ranks: -n 2.")
    if request.empty and request.collective != "alltoallv":
        raise Problem(f"All blocks of {request.collective} are equally long: --empty is for alltoallv.")


def default_ranks(memory: str) -> int:
    """A rank for every core, or for every GPU, but two at least. Raises Problem where a GPU is wanted and none is here."""
    if memory == "host":
        return core_count()
    if gpu_count() == 0:
        raise Problem("The CUDA driver sees no GPU here. If the ranks will run where it does, say how many: -n.")
    return max(2, gpu_count())


def native_takes_part(request: BenchRequest, native_cuda: Optional[bool]) -> bool:
    """Whether the native MPI can be measured; says so where it cannot. `native_cuda`: what the user says of it."""
    if request.memory == "host":
        return True
    takes_part = takes_device_memory(chosen_launcher(request)) if native_cuda is None else native_cuda
    if not takes_part:
        out.print(Text("native is not measured: this MPI library does not say that it takes device memory (--native-cuda, if it does).", "dim"))
    return takes_part


def choose_contenders(request: BenchRequest, wanted: str, native_cuda: Optional[bool]) -> None:
    """Fills in the request's contenders; says which of those that belong to device memory cannot be measured."""
    native = native_takes_part(request, native_cuda)
    if request.memory != "host":
        peers = device_peers(request.collective, chosen_flavour(request.flavour))
        request.peers, request.environment = [*peers.options, *request.peers], peers.environment
        for sentence in peers.missing:
            out.print(Text(sentence, "dim"))
    request.algorithms = ",".join(contender_names(wanted, request.collective, request.memory, native))


def conclude(measurement: Measurement, output: Optional[Path], html: Optional[Path]) -> None:
    """Shows the measurement and writes the files asked for."""
    show_measurement(measurement)
    if output:
        out.print(f"Saved as {save_measurement(measurement, output)}.")
    if html:
        name = reference(measurement).replace("native", "the native MPI")
        html.write_text(render_page(f"crossrail against {name}", "", [measurement]))
        out.print(f"Plots in {html}.")


def bench_command(
    context: typer.Context,
    collective: str = typer.Argument(..., help="The collective: alltoall or alltoallv."),
    ranks: Optional[int] = typer.Option(None, "-n", "--ranks", help="Number of ranks; the cores of this machine (or its GPUs) if not given.", show_default=False),
    hosts: Optional[int] = typer.Option(None, "-H", "--hosts", help="On a cluster of so many hosts that lives on this machine; see 'crossrail cluster --help'.", show_default=False),
    flavour: Optional[str] = typer.Option(None, "--mpi", help="Flavour of MPI: openmpi, mpich or abi; the first one built if not given.", show_default=False),
    launcher: Optional[str] = typer.Option(None, "--launcher", help="mpirun, mpiexec or srun to use.", show_default=False),
    smallest: str = typer.Option("1", "--min", help="Smallest block, from one rank to one other."),
    largest: str = typer.Option("1M", "--max", help="Largest block."),
    step: Optional[str] = typer.Option(None, "--step", help="From a size to the next: 2 or sqrt2.", show_default=False),
    memory: str = typer.Option("host", "--memory", help="Where the buffers are: host or cuda."),
    algorithms: str = typer.Option("native,auto", "--algorithms", help="Contenders, separated by commas, or all."),
    native_cuda: Optional[bool] = typer.Option(None, "--native-cuda/--no-native-cuda", help="Whether the MPI library takes device memory; it is asked if not given.", show_default=False),
    peers: List[str] = typer.Option([], "--peer", help="Another contender: NAME=LIBRARY:SYMBOL, a function of a shared library. May be repeated.", show_default=False),
    repetitions: Optional[int] = typer.Option(None, "--repetitions", help="Repetitions of every size.", show_default=False),
    empty: int = typer.Option(0, "--empty", min=0, max=100, help="Percent of the blocks that are empty (alltoallv)."),
    most_seconds: Optional[float] = typer.Option(None, "--max-time", help="Seconds for all; large sizes are left out when they are over.", show_default=False),
    output: Optional[Path] = typer.Option(None, "--output", help="Folder for the result (JSON).", show_default=False),
    html: Optional[Path] = typer.Option(None, "--html", help="Write a page with plots to this file.", show_default=False),
    machine: Optional[str] = typer.Option(None, "--machine", help="Name of this machine, for the page and the result.", show_default=False),
) -> None:
    """See BENCH_HELP."""
    request = BenchRequest(collective, default_ranks(memory) if ranks is None else ranks, flavour, launcher, context.obj.launcher,
                           parse_size(smallest), parse_size(largest), "", repetitions, hosts, empty, most_seconds=most_seconds,
                           peers=list(peers), memory=memory, step=step)
    check_request(request)
    choose_contenders(request, algorithms, native_cuda)
    with out.status(f"measuring {collective} on {request.ranks} ranks…"):
        measurement = measure(request, machine)
    conclude(measurement, output, html)
    raise typer.Exit(1 if wrong_blocks(measurement) else 0)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command("bench", help=BENCH_HELP)(bench_command)
