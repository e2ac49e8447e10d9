"""Programs that call NCCL: the library they load, and the shim of crossrail's that stands in its place (src/nccl/shim.h)."""

import ctypes
import hashlib
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Optional

from crossrail.errors import CliError
from crossrail.flavours import loaded_by, output_of, path_of, python_of
from crossrail.places import check_preloadable, first_file, how_to_get, library_folders

LIBRARY = "libcrossrail_nccl.so"
FILE = "libnccl.so.2"

# The words are run by the program's own interpreter. PyTorch's and JAX's wheels bring NCCL as a package of its own.
FIND_WHEEL = """
import importlib.util
try: spec = importlib.util.find_spec("nvidia.nccl")
except ModuleNotFoundError: spec = None
for place in spec.submodule_search_locations if spec else []: print(place + "/lib/libnccl.so.2")
"""


def own_library() -> Path:
    """libcrossrail_nccl.so; raises CliError when it is not built."""
    found = first_file(library_folders(), LIBRARY)
    if not found:
        raise CliError(f"{LIBRARY} is not in {library_folders()[0]}: {how_to_get('again')}.")
    return found.resolve()


def loaded_nccl(program: str) -> Optional[str]:
    """The NCCL that a compiled program loads when it starts."""
    return next((one.path for one in loaded_by(program) if one.name.startswith("libnccl.so") and one.path), None)


def wheel_nccl(program: str) -> Optional[str]:
    """The NCCL among the packages of the Python that runs the program."""
    python = python_of(program)
    named = output_of([python, "-c", FIND_WHEEL]).splitlines() if python else []
    return next((path for path in named if Path(path).is_file()), None)


def system_nccl() -> Optional[str]:
    """The NCCL that the dynamic loader finds: in LD_LIBRARY_PATH, then in its cache."""
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        if folder and (Path(folder) / FILE).is_file():
            return str(Path(folder) / FILE)
    ldconfig = shutil.which("ldconfig") or "/sbin/ldconfig"
    lines = [line.partition(" => ") for line in output_of([ldconfig, "-p"]).splitlines()]
    return next((path for name, arrow, path in lines if arrow and name.split()[:1] == [FILE]), None)


def find_nccl(program: str) -> Path:
    """The NCCL that the program would load; raises CliError when there is none.

    CROSSRAIL_NCCL, where it is a path, names it.
    """
    named = os.environ.get("CROSSRAIL_NCCL", "")
    if "/" in named:
        if not Path(named).is_file():
            raise CliError(f"CROSSRAIL_NCCL names '{named}', which is no file.")
        return Path(named).resolve()
    path = path_of(program)
    found = loaded_nccl(path) or wheel_nccl(path) or system_nccl()
    if not found:
        raise CliError(f"No {FILE} is found for '{program}': set CROSSRAIL_NCCL to its path.")
    return Path(found).resolve()


def cache_folder() -> Path:
    """Where shims are kept: in the user's cache, or else in a temporary folder of this user's alone."""
    wanted = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "crossrail" / "nccl"
    for folder in (wanted, Path(tempfile.gettempdir()) / f"crossrail-nccl-{os.geteuid()}"):
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        facts = folder.stat()
        if facts.st_uid == os.geteuid() and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and os.access(folder, os.W_OK):
            return folder
    raise CliError("There is no folder for what stands in NCCL's place: set XDG_CACHE_HOME to one that only you may write to.")


def name_of_shim(nccl: Path, library: Path) -> str:
    """A name that changes with both libraries."""
    facts = [f"{path}:{path.stat().st_mtime_ns}:{path.stat().st_size}" for path in (nccl, library)]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def shim_of(nccl: Path) -> Path:
    """The shim for this NCCL, which is written if there is none yet. Raises CliError when it cannot be."""
    library = own_library()
    shim = cache_folder() / name_of_shim(nccl, library) / FILE
    check_preloadable(shim, "XDG_CACHE_HOME")
    if shim.is_file():
        return shim
    shim.parent.mkdir(mode=0o700, exist_ok=True)
    write = ctypes.CDLL(str(library)).crossrail_nccl_write_shim
    write.restype = ctypes.c_char_p
    problem = write(str(nccl).encode(), str(shim).encode())
    if problem is not None:
        raise CliError(f"{problem.decode()}.")
    return shim
