"""Which MPI a program uses: told from the libraries it loads.

A *flavour* is a binary interface: `openmpi` (Open MPI 4 and 5), `mpich` (MPICH, Intel MPI, MVAPICH and
other descendants), `abi` (the standard interface of MPI-5).
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional

from crossrail.errors import CliError, NoProgram, NotExecutable

# Library names that only one flavour has. Debian's MPICH is libmpich.so.12, upstream's libmpi.so.12.
LIBRARY_NAMES = {
    "openmpi": re.compile(r"libmpi(_mpifh|_usempif08|_usempi_ignore_tkr|_usempi|_cxx)?\.so\.40$"),
    "mpich": re.compile(r"lib(mpi|mpich|mpifort|mpichfort|mpicxx|mpichcxx)\.so\.12$"),
    "abi": re.compile(r"libmpi_abi\.so(\.\d+)?$"),
}

# The words of mpi4py's loader; run by the program's own interpreter, and imports no MPI.
FIND_MPI4PY = """
import importlib.util, glob, os
spec = importlib.util.find_spec("mpi4py")
if spec: print("\\n".join(glob.glob(os.path.join(os.path.dirname(spec.origin), "MPI*.so"))))
"""


@dataclass
class Loaded:
    """One shared library a program loads: its name, and where it was found (None: not found)."""

    name: str
    path: Optional[str]


@dataclass
class Found:
    """The flavour of a program, the MPI library it loads where known, and how that was seen."""

    flavour: str
    library: Optional[str]
    reason: str


def parse_ldd(text: str) -> List[Loaded]:
    """The lines of `ldd`: 'libmpi.so.40 => /usr/lib/libmpi.so.40 (0x...)'."""
    loaded = []
    for line in text.splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        if arrow:
            loaded.append(Loaded(os.path.basename(name), rest.split(" (")[0] if rest.startswith("/") else None))
        elif name.startswith("/"):
            loaded.append(Loaded(os.path.basename(name.split(" (")[0]), name.split(" (")[0]))
    return loaded


def parse_readelf(text: str) -> List[Loaded]:
    """The NEEDED lines of `readelf -d`; paths are not known from it."""
    return [Loaded(name, None) for name in re.findall(r"\(NEEDED\)\s+Shared library: \[([^\]]+)\]", text)]


def classify(loaded: List[Loaded]) -> Optional[Found]:
    """The flavour these libraries give, or None without MPI. Raises CliError when they mix several."""
    hits = {}
    for library in loaded:
        for flavour, pattern in LIBRARY_NAMES.items():
            if pattern.match(library.name):
                hits.setdefault(flavour, []).append(library)
    if "abi" in hits:
        hits = {"abi": hits["abi"]}  # an MPI may build its standard interface upon its own
    if len(hits) > 1:
        names = ", ".join(library.name for libraries in hits.values() for library in libraries)
        raise CliError(f"The program loads more than one MPI ({names}); say which one with --mpi.")
    for flavour, libraries in hits.items():
        plain = [library for library in libraries if re.match(r"libmpi(ch|_abi)?\.so", library.name)]
        chosen = (plain or libraries)[0]
        return Found(flavour, chosen.path, f"it loads {chosen.name}")
    return None


def output_of(words: List[str]) -> str:
    """What a command prints on stdout; empty when it cannot be run or fails."""
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""


def loaded_by(path: str) -> List[Loaded]:
    """The libraries of a program or shared library: ldd sees all, readelf the direct ones."""
    return parse_ldd(output_of(["ldd", path])) or parse_readelf(output_of(["readelf", "-d", path]))


def interpreter_of(path: str) -> Optional[List[str]]:
    """The words after '#!' of a script, or None."""
    try:
        with open(path, "rb") as file:
            first = file.readline(400)
    except OSError:
        return None
    return first[2:].decode(errors="replace").split() if first.startswith(b"#!") else None


def python_of(path: str) -> Optional[str]:
    """The Python that runs `path`: itself, or that of its '#!' line; None when Python has no part in it."""
    if re.match(r"(python|pypy)[\d.]*$", os.path.basename(path)):
        return path
    words = interpreter_of(path) or []
    names = [word for word in words if "python" in os.path.basename(word)]
    return names[0] if names else None


def classify_mpi4py(python: str) -> Optional[Found]:
    """The flavour of the mpi4py this interpreter imports; None without mpi4py, or where it decides at run time."""
    modules = output_of([python, "-c", FIND_MPI4PY]).split("\n")
    found = [classify(loaded_by(module)) for module in modules if module]
    flavours = {one.flavour for one in found if one}
    if len(flavours) != 1:
        return None  # wheels of mpi4py 4 carry a module for each flavour
    one = next(one for one in found if one)
    return Found(one.flavour, one.library, f"its mpi4py does ({one.reason})")


def path_of(program: str) -> str:
    """The program's path; raises NoProgram or NotExecutable when there is none that can be run."""
    path = shutil.which(program)
    if path:
        return path
    if Path(program).is_dir():
        raise NotExecutable(f"'{program}' is a folder; name a program.")
    if Path(program).is_file():
        raise NotExecutable(f"The program '{program}' is not executable.")
    raise NoProgram(f"The program '{program}' is not found.")


def find_flavour(program: str) -> Optional[Found]:
    """The flavour of `program` (a path, or a name on PATH); None when it does not tell.

    Raises CliError when there is no such program, or when it loads two MPIs.
    """
    path = path_of(program)
    python = python_of(path)
    return classify(loaded_by(path)) or (classify_mpi4py(python) if python else None)
