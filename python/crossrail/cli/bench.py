"""`crossrail bench`: crossrail against the native MPI on this machine."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import List, Optional

import typer
from rich.text import Text

from crossrail.bench.contenders import default_ranks, resolve_contenders
from crossrail.bench.measurements import Measurement, on_device, reference, wrong_blocks
from crossrail.bench.request import CONTIGUOUS, BenchRequest, Effort, What, Where, check_request, shortest_datatype
from crossrail.bench.run import measure
from crossrail.collectives import call_names, exchange_names, find_call, for_help, vector_names
from crossrail.console import out
from crossrail.errors import EXIT_CODE, CliError
from crossrail.report.measurement_tables import show_measurement
from crossrail.report.page import render_page, write_page
from crossrail.sizes import parse_size

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
  crossrail bench alltoall -n 8 --datatype vector:contiguous --min 64
  crossrail bench ialltoall -n 8 --tests 10
  crossrail bench alltoall_init -n 8 --min 64K
  crossrail bench alltoall -H 4 -n 56
  crossrail bench alltoall -H 4 -n 56 --max 1K --peer theirs=/path/libtheirs.so:their_alltoall
  crossrail bench alltoall --memory cuda --algorithms all --min 16 --max 64M --step sqrt2
  crossrail bench alltoall -n 56 --html report.html --machine "cluster A" -- --bind-to core

--datatype: contiguous; vector (MPI_Type_vector: 8 doubles, every second one of 15), indexed (MPI_Type_indexed: 1, 3, 2 and 2 doubles
of 11), resized (MPI_Type_create_resized: a double in 16 bytes) or subarray (MPI_Type_create_subarray: two columns of 4 x 4 doubles), of both sides,
or SENDER:RECEIVER. Sizes are those of the data; those that are no multiple of 64 bytes are left out. Gaps are checked to stay as they were.
NCCL and the copy engines take contiguous data only, and so do functions of --peer.

Of nonblocking and persistent calls (ialltoall, alltoall_init) the start, the wait, and the overlap with work put between them
are measured, as osu_ialltoall and IMB-NBC do; --tests makes calls of MPI_Test in that work.

The exit code is 1 when any byte was wrong, 2 when an algorithm that was asked for did not run, or nothing could be measured.
"""


def save_measurement(measurement: Measurement, folder: Path) -> Path:
    """Writes the JSON as COLLECTIVE_FLAVOUR_RANKSranks_NODESnodes_MACHINE.json, with memory, datatype and empty blocks
    before the machine where they are not the usual ones; returns its path."""
    machine = measurement["machine"].get("name") or measurement["machine"].get("host", "machine")
    plain_name = re.sub(r"[^a-z0-9]+", "_", machine.lower()).strip("_")
    empty = f"{measurement['empty_percent']}empty_" if measurement.get("empty_percent") else ""
    memory = f"{measurement['memory']}_" if on_device(measurement) else ""
    datatype = measurement.get("datatype", CONTIGUOUS)
    types = "" if datatype == CONTIGUOUS else datatype.replace(":", "_to_") + "_"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (f"{measurement['collective']}_{measurement['flavour']}_{measurement['ranks']}ranks_"
                     f"{measurement['nodes']}nodes_{memory}{types}{empty}{plain_name}.json")
    path.write_text(json.dumps(measurement, indent=1) + "\n")
    return path


def check_outputs(output: Optional[Path], html: Optional[Path]) -> None:
    """Raises CliError before anything is measured where the result could not be written."""
    for folder, made in ((output, True), (html.absolute().parent if html else None, False)):
        if folder is None:
            continue
        there = next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists())
        if there != folder.absolute() and not made:
            raise CliError(f"There is no folder {folder}.")
        if not there.is_dir() or not os.access(there, os.W_OK):
            raise CliError(f"Nothing can be written to {folder}.")


def conclude(measurement: Measurement, output: Optional[Path], html: Optional[Path]) -> None:
    """Shows the measurement and writes the files asked for."""
    show_measurement(measurement)
    if output:
        out.print(f"Saved as {save_measurement(measurement, output)}.")
    if html:
        name = reference(measurement).replace("native", "the native MPI")
        write_page(html, render_page(f"crossrail against {name}", "", [measurement]))
        out.print(f"Plots in {html}.")


def bench_command(
    context: typer.Context,
    collective: str = typer.Argument(..., help=f"The call: {for_help(call_names)}."),
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
    tests: int = typer.Option(0, "--tests", min=0, help="Calls of MPI_Test in the work between start and wait (nonblocking and persistent calls)."),
    empty: int = typer.Option(0, "--empty", min=0, max=100, help=f"Percent of the blocks that are empty ({for_help(vector_names)})."),
    datatype: str = typer.Option(CONTIGUOUS, "--datatype", help=f"Of both sides, or SENDER:RECEIVER; see above ({for_help(exchange_names)})."),
    most_seconds: Optional[float] = typer.Option(None, "--max-time", help="Seconds for all; large sizes are left out when they are over.", show_default=False),
    output: Optional[Path] = typer.Option(None, "--output", help="Folder for the result (JSON).", show_default=False),
    html: Optional[Path] = typer.Option(None, "--html", help="Write a page with plots to this file.", show_default=False),
    machine: Optional[str] = typer.Option(None, "--machine", help="Name of this machine, for the page and the result.", show_default=False),
) -> None:
    """See BENCH_HELP."""
    found, form = find_call(collective)
    what = What(found.name, parse_size(smallest), parse_size(largest), step, memory, empty, (), tuple(peers), form, tests, shortest_datatype(datatype))
    where = Where(default_ranks(memory) if ranks is None else ranks, flavour, launcher, tuple(context.obj.launcher), hosts)
    effort = Effort(repetitions, most_seconds=most_seconds)
    check_request(BenchRequest(what, where, effort))
    check_outputs(output, html)
    rivals = resolve_contenders(what, where, algorithms, native_cuda)
    for note in rivals.notes:
        out.print(Text(note, "dim"))
    request = BenchRequest(replace(what, contenders=rivals.names, peers=rivals.peers), replace(where, environment=rivals.environment), effort)
    with out.status(f"measuring {collective} on {where.ranks} ranks…"):
        measurement = measure(request, machine)
    conclude(measurement, output, html)
    asked = [name.strip() for name in algorithms.split(",")]
    missing = any(one["contender"] in asked for one in measurement.get("not_run", []))
    raise typer.Exit(1 if wrong_blocks(measurement) else EXIT_CODE if missing else 0)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command("bench", help=BENCH_HELP)(bench_command)
