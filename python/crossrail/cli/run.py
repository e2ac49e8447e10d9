"""`crossrail run` and `crossrail lib`."""

import os
import shlex
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Dict, List, Optional

import typer

from crossrail.call_reports import read_folder
from crossrail.cli.console import complain
from crossrail.cli.report_view import show_report
from crossrail.flavours import Found, find_flavour
from crossrail.launchers import (Job, Launcher, command_line, core_count, find_launcher, flavour_on_path,
                                 named_launcher, own_settings, preload_value, recognise)
from crossrail.places import FLAVOURS, preload_library
from crossrail.problem import Problem
from crossrail.supervise import supervise

RUN_HELP = """Start an MPI program with crossrail preloaded.

The flavour of MPI is told from the libraries the program loads (for Python: those of its mpi4py), and the
mpirun that belongs to it is used. Words before '--' that are not options of crossrail go to that mpirun.

\b
Examples:
  crossrail run -n 8 ./app input.txt
  crossrail run -n 8 --report -- ./app input.txt
  crossrail run -n 64 --bind-to core --map-by numa -- ./app
  crossrail run -n 4 --mpi mpich -- python3 transform.py
  crossrail run -n 256 --launcher srun -- ./app

The exit code is the launcher's.
"""

LIB_HELP = """Print the path of the library to preload.

\b
Example:
  mpirun -n 8 -x LD_PRELOAD=$(crossrail lib --mpi openmpi) ./app
"""


@dataclass
class RunChoice:
    """What the user asked for beside the program: flavour, launcher (None: found here), number of ranks.

    `native`: without crossrail.
    """

    flavour: Optional[str] = None
    launcher: Optional[str] = None
    ranks: Optional[int] = None
    native: bool = False


def settle_flavour(program: str, choice: RunChoice) -> Found:
    """The user's flavour, else the program's, else that of the mpirun on PATH; raises Problem when none tells."""
    if choice.flavour:
        if choice.flavour not in FLAVOURS:
            raise Problem(f"'{choice.flavour}' is no flavour of MPI known here; take one of {', '.join(FLAVOURS)}.")
        return Found(choice.flavour, None, "--mpi says so")
    found = find_flavour(program)
    if found:
        return found
    launcher = recognise(shutil.which(choice.launcher) or choice.launcher) if choice.launcher else None
    family = {"openmpi": "openmpi", "hydra": "mpich"}.get(launcher.family) if launcher else flavour_on_path()
    if not family:
        raise Problem(f"'{program}' loads no MPI library and no mpirun on PATH tells which is meant; say --mpi openmpi or --mpi mpich.")
    return Found(family, None, "the launcher is of that flavour")


def settle_launcher(found: Found, choice: RunChoice) -> Launcher:
    """The named launcher, or the one belonging to the flavour; raises Problem when it cannot start that flavour."""
    if not choice.launcher:
        return find_launcher(found.flavour, found.library)
    launcher = named_launcher(choice.launcher)
    if {found.flavour, launcher.family} in ({"openmpi", "hydra"}, {"mpich", "openmpi"}):
        raise Problem(f"'{launcher.path}' cannot start a program of the flavour {found.flavour} ({found.reason}).")
    return launcher


def prepare(program: List[str], launcher_words: List[str], choice: RunChoice) -> Job:
    """The job with crossrail preloaded (unless native); raises Problem when a part of it is missing."""
    found = settle_flavour(program[0], choice)
    launcher = settle_launcher(found, choice)
    environment: Dict[str, str] = {}
    if not choice.native:
        environment = {**own_settings(), "LD_PRELOAD": preload_value(preload_library(found.flavour))}
    job = Job(launcher, choice.ranks, program, launcher_words, environment)
    if found.flavour == "mpich" and choice.ranks and choice.ranks > core_count():
        complain(f"{choice.ranks} ranks on {core_count()} cores: MPICH waits without yielding, expect it to be slow.")
    return job


def run_here(job: Job) -> int:
    """Runs the job by its launcher; returns the exit code."""
    return supervise(command_line(job))


def run_with_report(job: Job, folder: Optional[str], start: Callable[[Job], int] = run_here) -> int:
    """Runs the job by `start`, then prints what its processes counted; the folder is kept if the user named it."""
    place = Path(folder).resolve() if folder else Path(tempfile.mkdtemp(prefix="crossrail."))
    if folder and place.is_dir() and any(place.glob("*.json")):
        raise Problem(f"{place} already holds reports; name an empty folder.")
    place.mkdir(parents=True, exist_ok=True)
    job.environment["CROSSRAIL_REPORT"] = str(place)
    try:
        code = start(job)
        show_report(read_folder(place))
        return code
    finally:
        if not folder:
            shutil.rmtree(place, ignore_errors=True)


def run_command(
    context: typer.Context,
    ranks: Optional[int] = typer.Option(None, "-n", "--ranks", help="Number of ranks (also -np).", show_default=False),
    flavour: Optional[str] = typer.Option(None, "--mpi", help="Flavour of MPI: openmpi, mpich or abi.", show_default=False),
    launcher: Optional[str] = typer.Option(None, "--launcher", help="mpirun, mpiexec or srun to use.", show_default=False),
    report: bool = typer.Option(False, "--report", help="Afterwards, print which calls were carried, and their sizes."),
    report_folder: Optional[str] = typer.Option(None, "--report-folder", help="Keep the reports here (several nodes: on a shared file system).", show_default=False),
    show: bool = typer.Option(False, "--show", help="Print the command instead of running it."),
) -> None:
    """See RUN_HELP."""
    parts = context.obj
    if not parts.program:
        raise Problem("No program is given: crossrail run -n 4 -- ./app")
    job = prepare(parts.program, parts.launcher, RunChoice(flavour, launcher, ranks))
    if show:
        typer.echo(" ".join(shlex.quote(word) for word in command_line(job)))
    elif report or report_folder:
        raise typer.Exit(run_with_report(job, report_folder))
    else:
        words = command_line(job)
        os.execv(words[0], words)


def lib_command(flavour: str = typer.Option(..., "--mpi", help="Flavour of MPI: openmpi, mpich or abi.")) -> None:
    """See LIB_HELP."""
    typer.echo(preload_library(flavour))


def register(app: typer.Typer) -> None:
    """Adds the commands of this file."""
    app.command("run", help=RUN_HELP)(run_command)
    app.command("lib", help=LIB_HELP)(lib_command)
