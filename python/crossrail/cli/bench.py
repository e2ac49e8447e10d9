"""`crossrail bench`: crossrail against the native MPI on this machine."""

import json
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import List, Optional, Sequence

import typer
from rich.console import Console
from rich.text import Text

from crossrail.bench.by_processes import measure_ping_pong, measure_with_helpers
from crossrail.bench.contenders import Contenders, default_ranks, resolve_contenders
from crossrail.bench.measurements import Measurement, not_run_sentences, on_device, reference, verdict, wrong_blocks
from crossrail.bench.device import gpu_count
from crossrail.bench.request import (CONTIGUOUS, EQUAL, PING_PONG, BenchRequest, Effort, What, Where, check_request, distinct_counts, helper_counts,
                                     shortest_datatype)
from crossrail.bench.run import measure
from crossrail.collectives import any_of, call_names, exchange_names, find_call, for_help, vector_names
from crossrail.console import out, warn
from crossrail.errors import EXIT_CODE, CliError, Stopped, did_you_mean
from crossrail.launchers import MOST_RANKS
from crossrail.machine.lstopo import lstopo_picture
from crossrail.outputs import check_files, check_folder, write_file
from crossrail.report.measurement_tables import show_measurement
from crossrail.report.measurement_text import measurement_csv, osu_lines
from crossrail.report.page import render_page
from crossrail.settings_text import check_that_on
from crossrail.sizes import parse_size

FORMATS = ("table", "osu")

BENCH_HELP = """Measure crossrail against the native MPI: same run, taking turns, as many repetitions of each, data checked.

Contenders (--algorithms): native, auto (crossrail's own choice), or algorithms of 'crossrail list', with parameters
if need be; 'all' is auto and all of them that are for this memory; for alltoallv also alltoall, which makes the same exchange where no block is empty.
--peer adds a function of another library with the signature of the collective; what it calls under an MPI_ name
that crossrail takes over goes to crossrail, so that a peer to be measured on its own has to call PMPI_.
With --memory cuda the buffers are in the GPUs' memory, one GPU a rank. NCCL's ways of an alltoall, and what the copy
engines reach by themselves, are then contenders too; native only where the MPI library is CUDA-aware.

\b
Examples:
  crossrail bench alltoall -n 8
  crossrail bench alltoall -n 8 --max 64K --algorithms "native,auto,pairwise,node_shared packet=512"
  crossrail bench alltoallv -n 8 --algorithms native,auto,alltoall
  crossrail bench alltoallv -n 8 --empty 90 --max-time 60
  crossrail bench alltoallv --memory cuda --counts zipf --min 1K --max 16M
  crossrail bench alltoallw -n 8 --min 16 --max 4M
  crossrail bench alltoall -n 8 --datatype vector:contiguous --min 64
  crossrail bench alltoall -n 8 --off-cache --csv alltoall.csv
  crossrail bench allreduce -n 8 --in-place --format osu
  crossrail bench ialltoall -n 8 --tests 10
  crossrail bench alltoall_init -n 8 --min 64K
  crossrail bench alltoall -H 4 -n 56
  crossrail bench alltoall -H 4 -n 56 --max 1K --peer theirs=/path/libtheirs.so:their_alltoall
  crossrail bench alltoall --memory cuda --fresh --min 1K --max 16M
  crossrail bench alltoall --memory cuda --slices --beside --min 1K --max 16M
  crossrail bench alltoall --memory cuda --peer row=libstream_order_openmpi.so:stream_alltoall_in_a_row
  crossrail bench alltoall --memory cuda --algorithms all --min 16 --max 64M --step sqrt2
  crossrail bench allreduce --memory cuda -H 2 -n 2 --min 64K --max 64M --helpers-per-gpu 0,1,3,7 --html report.html
  crossrail bench alltoall -n 56 --html report.html --machine "cluster A" -- --bind-to core
  crossrail bench pingpong --help

--datatype: contiguous; vector (MPI_Type_vector: 8 doubles, every second one of 15), indexed (MPI_Type_indexed: 1, 3, 2 and 2 doubles
of 11), resized (MPI_Type_create_resized: a double in 16 bytes) or subarray (MPI_Type_create_subarray: two columns of 4 x 4 doubles), of both sides,
or SENDER:RECEIVER. Sizes are those of the data; those that are no multiple of 64 bytes are left out. Gaps are checked to stay as they were.
NCCL and the copy engines take contiguous data only, and so do functions of --peer.
alltoallw exchanges subarrays of complex numbers, as libraries for Fourier transforms do: of a three-dimensional array the last axis is distributed
before, the middle one afterwards. --counts zipf: the most goes to rank 0, half as much to rank 1, a third to rank 2; sizes are the mean.

Programs seldom call a collective on the same buffers again, on a GPU that does nothing else. --slices: buffers of the 32 calls that follow each other begin 16.5 KiB
apart in one allocation, as those that PyTorch's allocator hands out do (long ones overlap). --beside: in a stream of its own a kernel computes on half of the GPU's multiprocessors
while calls are timed and while the last ones are checked; it ends before memory is allocated or freed.

Of nonblocking and persistent calls (ialltoall, alltoall_init) the start, the wait, and the overlap with work put between them
are measured, as osu_ialltoall and IMB-NBC do; --tests makes calls of MPI_Test in that work. --csv has the medians of all, --format osu the columns of osu_ialltoall.

--helpers-per-gpu 0,1,3: each number of helper processes beside a rank is measured by a job of its own, one after the other; of all there is one
result, whose page has the times, the bandwidth and the gain by number of processes. Helper processes share long messages between nodes; see 'crossrail run --help'.

Ctrl-C keeps the sizes measured so far, in the files asked for, too. In brackets: the 95 % confidence interval of the median (order statistics).

The exit code is 1 when any byte was wrong, 130 after Ctrl-C, 2 when an algorithm that was asked for did not run, or nothing could be measured.
"""


PING_PONG_HELP = """Measure messages between two nodes that several processes of each GPU send, a share of its buffer each.

Each process has a partner on the other node, to which it sends its share of the buffer of its GPU, and which sends its own share back; the time is half of
that, of the slowest process. Sizes are those of a GPU's buffer. With --memory cuda a share is copied to host memory before it is sent, and to the GPU when it
has come; with --memory host it lies there, and no GPU is needed. Each number of processes is a job of its own. Messages are the MPI library's: crossrail has no
part in them. It is the benchmark of figure 5 of "Optimizing Allreduce Operations for Modern Heterogeneous Architectures with Multiple Processes per GPU".

\b
Examples:
  crossrail bench pingpong -H 2 --processes 1,2,4,8 --max 64M --html pingpong.html
  crossrail bench pingpong -H 2 --memory cuda --gpus 1
  crossrail bench pingpong --launcher mpirun --processes 1,4,16 --gpus 4 --memory cuda -- --hostfile two_nodes --map-by node

The launcher has to start as many processes on each of two nodes; on each, those of a GPU follow each other. Without a second node, halves of this one send
each other messages. Where processes share a GPU, NVIDIA's MPS lets them copy at the same time (nvidia-cuda-mps-control -d).

The exit code is that of 'crossrail bench'.
"""
MOST_PROCESSES = 256  # of a GPU


def save_measurement(measurement: Measurement, folder: Path) -> Path:
    """Writes the JSON as COLLECTIVE_FLAVOUR_RANKSranks_NODESnodes_MACHINE.json, with memory, datatype, buffers and empty blocks
    before the machine where they are not the usual ones; returns its path."""
    machine = measurement["machine"].get("name") or measurement["machine"].get("host", "machine")
    plain_name = re.sub(r"\W+", "_", machine.lower()).strip("_")
    empty = f"{measurement['empty_percent']}empty_" if measurement.get("empty_percent") else ""
    memory = f"{measurement['memory']}_" if on_device(measurement) else ""
    datatype = measurement.get("datatype", CONTIGUOUS)
    types = "" if datatype == CONTIGUOUS else datatype.replace(":", "_to_") + "_"
    buffers = "".join(f"{name}_" for name in ("in_place", "off_cache", "fresh", "slices", "beside") if measurement.get(name))
    buffers += "_".join(map(str, measurement["process_counts"])) + "processes_" if measurement.get("process_counts") else ""
    buffers += "zipf_" if measurement.get("counts") == "zipf" else ""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (f"{measurement['collective']}_{measurement['flavour']}_{measurement['ranks']}ranks_"
                     f"{measurement['nodes']}nodes_{memory}{types}{buffers}{empty}{plain_name}.json")
    write_file(path, json.dumps(measurement, indent=1) + "\n")
    return path


@dataclass(frozen=True)
class Outputs:
    """Where the result goes: a folder for the JSON, files for page and CSV; None: not written. `form`: on the terminal, table or osu."""

    folder: Optional[Path] = None
    html: Optional[Path] = None
    csv: Optional[Path] = None
    form: str = "table"


def check_outputs(outputs: Outputs) -> Outputs:
    """The same. Raises CliError before anything is measured where the result could not be written."""
    if outputs.form not in FORMATS:
        raise CliError(f"The format is {any_of(list(FORMATS))}, not '{outputs.form}'.{did_you_mean(outputs.form, FORMATS)}")
    check_files(outputs.html, outputs.csv)
    if outputs.folder:
        check_folder(outputs.folder, made=True)
    return outputs


def look_ahead(rivals: Contenders, setting: str, outputs: Outputs) -> Contenders:
    """Returns the contenders. Raises CliError where crossrail is switched off and is to be measured. Prints that `setting`, which names an algorithm,
    does not count, and who is left out; with --format osu not on standard output."""
    if rivals.names != ("native",):
        check_that_on("measured")
    if os.environ.get(setting):
        warn(f"{setting} does not count here: --algorithms says what is measured.")
    for note in rivals.notes:
        if outputs.form == "osu":
            typer.echo(note, err=True)
        else:
            out.print(Text(note, "dim"))
    return rivals


def conclude(measurement: Measurement, outputs: Outputs, algorithms: str = "") -> int:
    """Shows the measurement, with --format osu as all of standard output, and writes the files asked for; returns the exit code."""
    osu = outputs.form == "osu"
    if osu:
        typer.echo("\n".join(osu_lines(measurement)))
        for sentence in [*not_run_sentences(measurement), *([verdict(measurement)] if wrong_blocks(measurement) else [])]:
            warn(sentence)
    else:
        show_measurement(measurement)
    say = (lambda sentence: typer.echo(sentence, err=True)) if osu else out.print
    if outputs.folder:
        say(f"Saved as {save_measurement(measurement, outputs.folder)}.")
    if outputs.csv:
        write_file(outputs.csv, measurement_csv(measurement))
        say(f"A line for every size and contender: {outputs.csv}.")
    if outputs.html:
        name = reference(measurement).replace("native", "the native MPI")
        heading = "Several processes a GPU" if measurement.get("process_counts") else f"crossrail against {name}"
        write_file(outputs.html, render_page(heading, "", [measurement], lstopo_picture()))
        say(f"Plots in {outputs.html}.")
    return code_of(measurement, algorithms)


def code_of(measurement: Measurement, algorithms: str) -> int:
    """The exit code: 1 where a byte was wrong, 130 where the user stopped it, 2 where it failed or what was asked for did not run."""
    asked = [name.strip() for name in algorithms.split(",")]
    missing = any(one["contender"] in asked for one in measurement.get("not_run", []))
    if wrong_blocks(measurement):
        return 1
    if measurement.get("stopped"):
        warn("Stopped. The sizes measured so far are kept.")
        return Stopped.exit_code
    if measurement.get("failed"):
        warn(f"{measurement['failed']}\nThe sizes measured before are kept.")
    return EXIT_CODE if missing or measurement.get("failed") else 0


def measured(request: BenchRequest, rivals: Contenders, machine: Optional[str], helpers: Sequence[int] = ()) -> Measurement:
    """The measurement of the request with these contenders, and numbers of helper processes; meanwhile standard error says so."""
    with_rivals = replace(request, what=replace(request.what, contenders=rivals.names, peers=rivals.peers),
                          where=replace(request.where, environment=rivals.environment))
    with Console(stderr=True).status(f"measuring {request.what.call} on {request.where.ranks} ranks…"):
        return measure_with_helpers(with_rivals, helpers, machine) if helpers else measure(with_rivals, machine)


def gpus_of_a_node(given: Optional[int], memory: str, hosts: Optional[int]) -> int:
    """What the user says, else those here, dealt to the hosts of a cluster on this machine."""
    return given or (max(1, gpu_count() // (hosts or 1)) if memory == "cuda" else 1)


def bench_command(
    context: typer.Context,
    collective: str = typer.Argument(..., help=f"The call: {for_help(call_names)}.", show_default=False),
    ranks: Optional[int] = typer.Option(None, "-n", "--ranks", max=MOST_RANKS, help="Number of ranks; the cores of this machine (or its GPUs) if not given.", show_default=False),
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
    repetitions: Optional[int] = typer.Option(None, "--repetitions", help="Repetitions of every contender at every size. Without it: as many as fit the time, the same number for all.", show_default=False),
    tests: int = typer.Option(0, "--tests", min=0, help="Calls of MPI_Test in the work between start and wait (nonblocking and persistent calls)."),
    empty: int = typer.Option(0, "--empty", min=0, max=100, help=f"Percent of the blocks that are empty ({for_help(vector_names)})."),
    counts: str = typer.Option(EQUAL, "--counts", help=f"Lengths of the blocks: equal, or by Zipf's law; see above ({for_help(vector_names)})."),
    datatype: str = typer.Option(CONTIGUOUS, "--datatype", help=f"Of both sides, or SENDER:RECEIVER; see above ({for_help(exchange_names)})."),
    most_seconds: Optional[float] = typer.Option(None, "--max-time", help="Seconds for all; large sizes are left out when they are over.", show_default=False),
    in_place: bool = typer.Option(False, "--in-place", help="With MPI_IN_PLACE: send and receive in one buffer."),
    off_cache: bool = typer.Option(False, "--off-cache", help="Flush the buffers from the caches before every timed call."),
    fresh: bool = typer.Option(False, "--fresh", help="Allocate the buffers before every call, free them behind it, and time that with it (--memory cuda)."),
    slices: bool = typer.Option(False, "--slices", help="Every call uses another slice of one allocation, as memory of caching allocators is."),
    beside: bool = typer.Option(False, "--beside", help="A kernel of the bench's own runs on the GPU meanwhile, on half of its multiprocessors (--memory cuda)."),
    buffers: int = typer.Option(1, "--buffers", min=1, max=1_000_000, help="Sets of buffers, used in turn."),
    helpers: Optional[str] = typer.Option(None, "--helpers-per-gpu", help="Numbers of helper processes beside each rank, separated by commas: 0,1,3; each by a job of its own.", show_default=False),
    csv: Optional[Path] = typer.Option(None, "--csv", help="Write a line for every size and contender to this file.", show_default=False),
    form_of_output: str = typer.Option("table", "--format", help="On the terminal: table, or osu (columns of the OSU micro-benchmarks)."),
    output: Optional[Path] = typer.Option(None, "--output", help="Folder for the result (JSON).", show_default=False),
    html: Optional[Path] = typer.Option(None, "--html", help="Write a page with plots to this file.", show_default=False),
    machine: Optional[str] = typer.Option(None, "--machine", help="Name of this machine, for the page and the result.", show_default=False),
) -> None:
    """See BENCH_HELP."""
    found, form = find_call(collective)
    what = What(found.name, parse_size(smallest), parse_size(largest), step, memory, empty, (), tuple(peers), form, tests, shortest_datatype(datatype), in_place, off_cache,
                counts, fresh, found.kind_of(collective), buffers, slices=slices, beside=beside)
    check_request(request := BenchRequest(what, Where(default_ranks(memory) if ranks is None else ranks, flavour, launcher, tuple(context.obj.launcher), hosts), Effort(repetitions, most_seconds=most_seconds)))
    helper_numbers, outputs = helper_counts(helpers, found.name), check_outputs(Outputs(output, html, csv, form_of_output))
    raise typer.Exit(conclude(measured(request, look_ahead(resolve_contenders(what, request.where, algorithms, native_cuda), found.setting, outputs), machine, helper_numbers), outputs, algorithms))


def ping_pong_command(
    context: typer.Context,
    processes: str = typer.Option("1,2,4,8,16", "--processes", help="Numbers of processes of a GPU, separated by commas."),
    gpus: Optional[int] = typer.Option(None, "--gpus", min=1, help="GPUs of a node; with --memory cuda those that are here (-H: dealt to the hosts), else 1.", show_default=False),
    hosts: Optional[int] = typer.Option(None, "-H", "--hosts", help="2: on a cluster of two hosts that lives on this machine.", show_default=False),
    memory: str = typer.Option("host", "--memory", help="Where the buffers are: host, or cuda, with copies in host memory."),
    flavour: Optional[str] = typer.Option(None, "--mpi", help="Flavour of MPI: openmpi, mpich or abi; the first one built if not given.", show_default=False),
    launcher: Optional[str] = typer.Option(None, "--launcher", help="mpirun, mpiexec or srun to use.", show_default=False),
    smallest: str = typer.Option("1K", "--min", help="Smallest buffer of a GPU."),
    largest: str = typer.Option("64M", "--max", help="Largest one."),
    step: Optional[str] = typer.Option(None, "--step", help="From a size to the next: 2 or sqrt2.", show_default=False),
    repetitions: Optional[int] = typer.Option(None, "--repetitions", help="Repetitions of every size.", show_default=False),
    most_seconds: Optional[float] = typer.Option(None, "--max-time", help="Seconds for all; large sizes are left out when they are over.", show_default=False),
    csv: Optional[Path] = typer.Option(None, "--csv", help="Write a line for every size and number of processes to this file.", show_default=False),
    form_of_output: str = typer.Option("table", "--format", help="On the terminal: table, or osu (columns of the OSU micro-benchmarks)."),
    output: Optional[Path] = typer.Option(None, "--output", help="Folder for the result (JSON).", show_default=False),
    html: Optional[Path] = typer.Option(None, "--html", help="Write a page with plots to this file.", show_default=False),
    machine: Optional[str] = typer.Option(None, "--machine", help="Name of this machine, for the page and the result.", show_default=False),
) -> None:
    """See PING_PONG_HELP."""
    if hosts not in (None, 2):
        raise CliError(f"The ping-pong is one between two nodes: -H 2, not {hosts}.")
    counts = distinct_counts(processes, "--processes", 1, MOST_PROCESSES)
    what = What(PING_PONG, parse_size(smallest), parse_size(largest), step, memory, contenders=())
    where, effort = Where(2, flavour, launcher, tuple(context.obj.launcher), hosts), Effort(repetitions, most_seconds=most_seconds)
    check_request(BenchRequest(what, where, effort))
    outputs = check_outputs(Outputs(output, html, csv, form_of_output))
    choice = {"counts": counts, "gpus": gpus_of_a_node(gpus, memory, hosts), "machine": machine}
    with Console(stderr=True).status(f"measuring messages with {processes} processes a GPU…"):
        measurement = measure_ping_pong(what, where, effort, choice)
    raise typer.Exit(conclude(measurement, outputs))


def register(app: typer.Typer) -> None:
    """Adds the commands of this file; the second one is 'bench pingpong' in the user's words."""
    app.command("bench", help=BENCH_HELP)(bench_command)
    app.command(PING_PONG, help=PING_PONG_HELP, hidden=True)(ping_pong_command)
