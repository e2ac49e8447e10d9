"""`crossrail run` and `crossrail lib`."""

import os
import shlex
from functools import partial
from pathlib import Path
from typing import Dict, List, Optional

import typer

from crossrail import core
from crossrail.console import warn
from crossrail.helper_processes import MOST as MOST_HELPERS, helpers_of
from crossrail.errors import CliError
from crossrail.flavours import path_of
from crossrail.jobs import RunChoice, prepare, resolve_flavour
from crossrail.launchers import MOST_RANKS, Job, command_line, preload_value
from crossrail.mps import mps_of
from crossrail.nccl import find_nccl, shim_of
from crossrail.outputs import check_files
from crossrail.places import preload_library
from crossrail.report.reported_run import ReportChoice, run_here, run_with_report
from crossrail.report.traced_run import run_traced
from crossrail.settings_text import set_words

RUN_HELP = """Start an MPI program with crossrail preloaded.

The flavour of MPI is told from the libraries the program loads (for Python: those of its mpi4py), and the
mpirun that belongs to it is used. Words before '--' that are not options of crossrail go to that mpirun.

\b
Examples:
  crossrail run -n 8 ./app input.txt
  crossrail run -n 8 --report -- ./app input.txt
  crossrail run -n 8 --html report.html -- ./app input.txt
  crossrail run -n 8 --record calls.json -- ./app input.txt
  crossrail run -n 8 --trace trace.json -- ./app input.txt
  crossrail run -n 64 --bind-to core --map-by numa -- ./app
  crossrail run -n 4 --mpi mpich -- python3 transform.py
  crossrail run -n 256 --launcher srun --mpi=pmix -- ./app
  crossrail run -n 4 --helpers-per-gpu 3 -- ./app
  crossrail run -n 8 --mps -- ./app
  crossrail run --nccl -- torchrun --nproc-per-node 2 train.py

--report prints for every function how many calls were carried and how many left native, the seconds spent in it by the
slowest process, algorithms, traffic and sizes; for nonblocking and persistent calls also the seconds in starting and in
waiting for them, how long they were under way, and what part of that was hidden behind the program's own work.

--record keeps the collective calls in their order, with the times between them, for 'crossrail replay'.

--trace writes what every rank did, and when, for a browser: https://ui.perfetto.dev opens the file. A job that was stopped or has crashed leaves one, too.

--helpers-per-gpu 3 starts three processes beside each rank, which sleep until the rank has long messages of its GPU's memory for other nodes, and then move
a share of them each: for networks that one process cannot fill. The program sees nothing of them.

--mps starts an MPS daemon for this job, so that processes that share a GPU use it at the same time, and ends it afterwards. On this host only.

--nccl is for programs that call NCCL. Without -n and --launcher the program is started as it is, since torchrun and its relatives start the processes; no MPI has a part
in it. With them it is started under MPI, and both MPI's and NCCL's calls are looked at.

--show needs no launcher on this machine: the command may be for another one. With --launcher srun, --mpi takes srun's words (pmix, pmi2), too.

The exit code is the launcher's; 2 for an error of crossrail's own, 127 where the program is not found, 126 where it cannot be executed.
"""

LIB_HELP = """Print the path of the library to preload.

\b
Examples:
  mpirun -n 8 -x LD_PRELOAD=$(crossrail lib ./app) ./app
  mpirun -n 8 -x LD_PRELOAD=$(crossrail lib --mpi openmpi) ./app
  LD_PRELOAD=$(crossrail lib --nccl python3) torchrun --nproc-per-node 2 train.py
"""


def tell_settings() -> None:
    """What is set, and from where; what makes no sense the job itself tells."""
    try:
        words = set_words(core.settings_given())
    except CliError:  # the job needs another library
        return
    if words:
        warn(f"settings: {', '.join(words)}")


def show_job(job: Job, reported: ReportChoice, trace: Optional[Path], beside: Dict[str, bool]) -> None:
    """Prints the command that starts the job, and says what it leaves out; `beside`: what 'crossrail run' would start, or not."""
    if reported.folder:
        job.environment["CROSSRAIL_REPORT"] = os.path.realpath(reported.folder)
    elif reported.shown:
        warn("The command shown makes no report: name a folder with --report-folder, and read it with 'crossrail report'.")
    if trace:
        warn("The command shown makes no trace: set CROSSRAIL_TRACE to a folder, and read it with 'crossrail trace'.")
    for what in (name for name, wanted in beside.items() if wanted):
        warn(f"The command shown starts no {what}: 'crossrail run' does.")
    typer.echo(" ".join(shlex.quote(word) for word in command_line(job)))


def start_alone(program: List[str], shown: bool, more: bool) -> None:
    """Starts a program that calls NCCL and starts its processes itself; `more`: something was asked for that needs a launcher."""
    if more:
        raise CliError("Without -n or --launcher, --nccl takes no --report, --html, --record, --trace, --helpers-per-gpu and no --mps.")
    preloaded = preload_value(shim_of(find_nccl(program[0])))
    if shown:
        typer.echo(" ".join([f"LD_PRELOAD={shlex.quote(preloaded)}", *map(shlex.quote, program)]))
        return
    tell_settings()
    os.execve(path_of(program[0]), program, {**os.environ, "LD_PRELOAD": preloaded})


def run_command(
    context: typer.Context,
    ranks: Optional[int] = typer.Option(None, "-n", "--ranks", min=1, max=MOST_RANKS, help="Number of ranks (also -np).", show_default=False),
    flavour: Optional[str] = typer.Option(None, "--mpi", help="Flavour of MPI: openmpi, mpich or abi.", show_default=False),
    launcher: Optional[str] = typer.Option(None, "--launcher", help="mpirun, mpiexec or srun to use.", show_default=False),
    report: bool = typer.Option(False, "--report", help="Afterwards, print which calls were carried, and their sizes."),
    report_folder: Optional[str] = typer.Option(None, "--report-folder", help="Keep the reports here (several nodes: on a shared file system).", show_default=False),
    html: Optional[Path] = typer.Option(None, "--html", help="Write the report to this file, too, as a page.", show_default=False),
    record: Optional[Path] = typer.Option(None, "--record", help="Write the collective calls to this file, for 'crossrail replay'.", show_default=False),
    trace: Optional[Path] = typer.Option(None, "--trace", help="Write what every rank did, and when, to this file, for ui.perfetto.dev.", show_default=False),
    helpers: int = typer.Option(0, "--helpers-per-gpu", min=0, max=MOST_HELPERS,
                                 help="Processes beside each rank that move long messages of device memory between nodes."),
    mps: bool = typer.Option(False, "--mps", help="Start an MPS daemon for this job, and end it afterwards."),
    nccl: bool = typer.Option(False, "--nccl", help="The program calls NCCL: stand in its place."),
    show: bool = typer.Option(False, "--show", help="Print the command instead of running it."),
) -> None:
    """See RUN_HELP."""
    parts = context.obj
    if not parts.program:
        raise CliError("No program is given: crossrail run -n 4 -- ./app")
    if nccl and not (ranks or launcher or flavour or parts.launcher):
        return start_alone(parts.program, show, any((mps, helpers, report, report_folder, html, record, trace)))
    job = prepare(parts.program, parts.launcher, RunChoice(flavour, launcher, ranks, shown=show))
    job.environment["LD_PRELOAD"] += f":{shim_of(find_nccl(parts.program[0]))}" if nccl else ""
    reported = ReportChoice(report_folder, html, record, report or bool(report_folder or html))
    if show:
        return show_job(job, reported, trace, {"helper processes": helpers > 0, "MPS daemon": mps})
    check_files(html, record, trace)
    tell_settings()
    if not (report or report_folder or html or record or trace or helpers or mps):
        words = command_line(job)
        os.execv(words[0], words)
    start = partial(run_with_report, job, reported) if report or report_folder or html or record else partial(run_here, job)

    def run() -> int:
        """The job beside its MPS daemon and its helper processes."""
        with mps_of(job, mps), helpers_of(job, helpers):
            return start()

    raise typer.Exit(run_traced(job, trace, run))


def lib_command(
    program: Optional[str] = typer.Argument(None, help="A program: its flavour of MPI is taken.", show_default=False),
    flavour: Optional[str] = typer.Option(None, "--mpi", help="Flavour of MPI: openmpi, mpich or abi.", show_default=False),
    nccl: bool = typer.Option(False, "--nccl", help="For a program that calls NCCL."),
) -> None:
    """See LIB_HELP."""
    if nccl:
        if not program or flavour:
            raise CliError("Which NCCL? Name the program, or the Python that runs it: crossrail lib --nccl python3.")
        typer.echo(shim_of(find_nccl(program)))
        return
    if not program and not flavour:
        raise CliError("Which MPI? Name a program, crossrail lib ./app, or a flavour, crossrail lib --mpi openmpi.")
    chosen = resolve_flavour(program, RunChoice(flavour)).flavour if program else flavour
    typer.echo(preload_library(chosen))


def register(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    app.command("run", help=RUN_HELP)(run_command)
    app.command("lib", help=LIB_HELP)(lib_command)
