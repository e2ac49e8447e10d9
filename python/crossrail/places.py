"""Where the built and the installed files are."""

import os
from pathlib import Path
from typing import List, Optional

from crossrail.errors import CliError

FLAVOURS = ("openmpi", "mpich", "abi")
CORE_LIBRARY = "libcrossrail.so"


def source_tree() -> Optional[Path]:
    """The root of the source tree this package lies in, or None when it is installed."""
    root = Path(__file__).resolve().parents[2]
    return root if (root / "include/crossrail/crossrail.h").exists() and (root / "src").is_dir() else None


def library_folders() -> List[Path]:
    """Folders that may hold the libraries, best first. CROSSRAIL_LIBRARY_DIR, where set, is the only one."""
    chosen = os.environ.get("CROSSRAIL_LIBRARY_DIR")
    if chosen:
        return [Path(chosen).resolve()]
    tree = source_tree()
    if tree:
        return [tree / "build"]
    folders = []
    for parent in Path(__file__).resolve().parents[1:6]:
        folders += [parent, parent / "lib", parent / "lib64"]
    return folders


def find_built(names: List[str]) -> Optional[Path]:
    """The first file of these names (relative to a library folder) that exists, or None."""
    for folder in library_folders():
        for name in names:
            if (folder / name).is_file():
                return folder / name
    return None


def core_library() -> Path:
    """libcrossrail.so; raises CliError when it is not built."""
    found = find_built([CORE_LIBRARY])
    if not found:
        raise CliError(f"{CORE_LIBRARY} is not in {library_folders()[0]}: run 'make' first.")
    return found


def preload_library(flavour: str) -> Path:
    """The library to preload under `flavour`; raises CliError when it is not built or cannot be preloaded."""
    if flavour not in FLAVOURS:
        raise CliError(f"'{flavour}' is no flavour of MPI known here; take one of {', '.join(FLAVOURS)}.")
    name = f"libcrossrail_mpi_{flavour}.so"
    found = find_built([name])
    if not found:
        raise CliError(f"{name} is not in {library_folders()[0]}: install that MPI's development files and run 'make'.")
    if any(letter in str(found) for letter in " :"):
        raise CliError(f"'{found}' cannot be preloaded: LD_PRELOAD allows no blank or colon in a path. Set CROSSRAIL_LIBRARY_DIR.")
    return found


def bench_program(collective: str, flavour: str) -> Path:
    """The bench program of a collective and flavour; raises CliError when it is not built."""
    name = f"{collective}_{flavour}"
    found = find_built([f"bench/{name}", f"../libexec/crossrail/{name}", f"../libexec/crossrail/bench/{name}"])
    if not found:
        raise CliError(f"The bench program bench/{name} is not in {library_folders()[0]}: run 'make' first.")
    return found


def built_flavours() -> List[str]:
    """The flavours whose library exists."""
    return [flavour for flavour in FLAVOURS if find_built([f"libcrossrail_mpi_{flavour}.so"])]
