"""A program as a job with crossrail preloaded: its flavour of MPI, the launcher that belongs to it."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional

from crossrail.console import warn
from crossrail.errors import CliError
from crossrail.flavours import Found, find_flavour
from crossrail.launchers import (Job, Launcher, absent_launcher, check_launcher, core_count, find_launcher, flavour_on_path, named_launcher, own_settings,
                                 preload_value, recognise)
from crossrail.places import check_flavour, preload_library


@dataclass
class RunChoice:
    """What the user asked for beside the program: flavour, launcher (None: found here), number of ranks.

    `native`: without crossrail. `shown`: the command is only shown, and its launcher may be missing here.
    """

    flavour: Optional[str] = None
    launcher: Optional[str] = None
    ranks: Optional[int] = None
    native: bool = False
    shown: bool = False


def refuse_other_flavour(program: str, flavour: str) -> None:
    """Raises CliError for a program that tells of another flavour than --mpi does: each rank would be a job of its own."""
    try:
        found = find_flavour(program)
    except CliError:
        if Path(program).is_dir():
            raise
        return  # it loads several, and --mpi decides, or is to be found only where it will run
    if found and found.flavour != flavour:
        raise CliError(f"'{program}' is of the flavour {found.flavour} ({found.reason}), not {flavour}: leave out --mpi.")


def resolve_flavour(program: str, choice: RunChoice) -> Found:
    """The user's flavour, else the program's, else that of the mpirun on PATH; raises CliError when none tells."""
    if choice.flavour:
        check_flavour(choice.flavour)
        refuse_other_flavour(program, choice.flavour)
        return Found(choice.flavour, None, "--mpi says so")
    found = find_flavour(program)
    if found:
        return found
    launcher = recognise(shutil.which(choice.launcher) or choice.launcher) if choice.launcher else None
    family = {"openmpi": "openmpi", "hydra": "mpich"}.get(launcher.family) if launcher else flavour_on_path()
    if not family:
        raise CliError(f"'{program}' loads no MPI library and no mpirun on PATH tells which is meant; say --mpi openmpi or --mpi mpich.")
    return Found(family, None, "the launcher is of that flavour")


def resolve_launcher(found: Found, choice: RunChoice) -> Launcher:
    """The named launcher, or the one belonging to the flavour; raises CliError when it cannot start that flavour."""
    try:
        launcher = named_launcher(choice.launcher) if choice.launcher else find_launcher(found.flavour, found.library)
    except CliError:
        if not choice.shown or (choice.launcher and shutil.which(choice.launcher)):
            raise
        launcher = absent_launcher(choice.launcher, found.flavour)
    check_launcher(launcher, found.flavour, found.reason)
    return launcher


def prepare(program: List[str], launcher_words: List[str], choice: RunChoice) -> Job:
    """The job with crossrail preloaded (unless native); raises CliError when a part of it is missing."""
    found = resolve_flavour(program[0], choice)
    launcher = resolve_launcher(found, choice)
    environment: Dict[str, str] = {}
    if not choice.native:
        environment = {**own_settings(), "LD_PRELOAD": preload_value(preload_library(found.flavour))}
    job = Job(launcher, choice.ranks, program, launcher_words, environment, found.flavour)
    if found.flavour == "mpich" and choice.ranks and choice.ranks > core_count():
        warn(f"{choice.ranks} ranks on {core_count()} cores: MPICH waits without yielding, expect it to be slow.")
    return job
