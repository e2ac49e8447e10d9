"""Where the built and the installed files are.

An installation brings installed.py, written by cmake/install.cmake: paths relative to this file's folder.
"""

import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import List, Optional

from crossrail.errors import CliError

FLAVOURS = ("openmpi", "mpich", "abi")
CORE_LIBRARY = "libcrossrail.so"


def source_tree() -> Optional[Path]:
    """The root of the source tree this package lies in, or None when it is installed."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "include/crossrail/crossrail.h").exists() and (root / "src").is_dir() else None


def installed_folder(name: str) -> Optional[Path]:
    """The folder that installed.py has as LIBRARIES, BENCHES or DATA; None where there is no installed.py."""
    if not find_spec("crossrail.installed"):
        return None
    return (Path(__file__).resolve().parent / getattr(import_module("crossrail.installed"), name)).resolve()


def library_folders() -> List[Path]:
    """Folders that may hold the libraries, best first. CROSSRAIL_LIBRARY_DIR, where set, is the only one."""
    chosen = os.environ.get("CROSSRAIL_LIBRARY_DIR")
    if chosen:
        return [Path(os.path.realpath(chosen))]
    tree = source_tree()
    if tree:
        return [tree / "build"]
    installed = installed_folder("LIBRARIES")
    if installed:
        return [installed]
    folders = []
    for parent in Path(__file__).resolve().parents[1:6]:
        folders += [parent, parent / "lib", parent / "lib64"]
    return folders


def bench_folders() -> List[Path]:
    """Folders that may hold the bench programs and their peers, best first."""
    installed = installed_folder("BENCHES")
    near = [folder / below for folder in library_folders() for below in ("bench", "../libexec/crossrail", "../../libexec/crossrail")]
    return [installed, *near] if installed and not os.environ.get("CROSSRAIL_LIBRARY_DIR") else near


def data_folder() -> Optional[Path]:
    """What holds examples/, machines/ and tuning/: the source tree, share/crossrail when installed, or None."""
    return source_tree() or installed_folder("DATA")


def first_file(folders: List[Path], name: str) -> Optional[Path]:
    """The first of the files of this name in these folders, or None."""
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def how_to_get(what: str) -> str:
    """What to do where something is missing: `what` is built in the tree, and comes with a complete installation."""
    return f"run 'make' {what}" if source_tree() else f"install crossrail again {what}"


def core_library() -> Path:
    """libcrossrail.so; raises CliError when it is not built."""
    found = first_file(library_folders(), CORE_LIBRARY)
    if not found:
        raise CliError(f"{CORE_LIBRARY} is not in {library_folders()[0]}: {how_to_get('first' if source_tree() else 'with its libraries')}.")
    return found


def check_flavour(flavour: Optional[str]) -> None:
    """Raises CliError for what is none; None: not given."""
    if flavour is not None and flavour not in FLAVOURS:
        raise CliError(f"'{flavour}' is no flavour of MPI known here; take one of {', '.join(FLAVOURS)}.")


def check_preloadable(library: Path, variable: str) -> None:
    """Raises CliError for a path that LD_PRELOAD would take apart; `variable` is what moves it elsewhere."""
    if any(letter in str(library) for letter in " :"):
        raise CliError(f"'{library}' cannot be preloaded: LD_PRELOAD allows no blank or colon in a path. Set {variable}.")


def preload_library(flavour: str) -> Path:
    """The library to preload under `flavour`; raises CliError when it is not built or cannot be preloaded."""
    check_flavour(flavour)
    name = f"libcrossrail_mpi_{flavour}.so"
    found = first_file(library_folders(), name)
    if not found:
        raise CliError(f"{name} is not in {library_folders()[0]}: {how_to_get('with the development files of that MPI at hand')}.")
    check_preloadable(found, "CROSSRAIL_LIBRARY_DIR")
    return found


def bench_program(collective: str, flavour: str) -> Path:
    """The bench program of a collective and flavour; raises CliError when it is not built."""
    name = f"{collective}_{flavour}"
    found = first_file(bench_folders(), name)
    if not found:
        raise CliError(f"The bench program {name} is not in {bench_folders()[0]}: {how_to_get(f'with an MPI of the flavour {flavour} at hand')}.")
    return found


def simulation_program() -> Path:
    """The program that simulates ranks; raises CliError when it is not built."""
    name = "crossrail_simulate"
    found = first_file([*bench_folders(), *library_folders()], name)
    if not found:
        raise CliError(f"The program {name} is not in {bench_folders()[0]}: {how_to_get('first' if source_tree() else 'with its programs')}.")
    return found


def built_flavours() -> List[str]:
    """The flavours whose library exists."""
    return [flavour for flavour in FLAVOURS if first_file(library_folders(), f"libcrossrail_mpi_{flavour}.so")]
