"""What `crossrail doctor` says of NCCL: which one programs find, and whether crossrail can stand in its place."""

import mmap
import re
import shutil
from pathlib import Path
from typing import List

from crossrail.errors import CliError
from crossrail.machine.finding import NOTE, OK, Finding
from crossrail.nccl import find_nccl, shim_of


def name_of(nccl: Path) -> str:
    """What the library's own text says of its version, 'NCCL 2.28.9', or 'NCCL' where it says nothing."""
    with open(nccl, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        found = re.search(rb"NCCL version (\d+\.\d+\.\d+)", content)
        return f"NCCL {found.group(1).decode()}" if found else "NCCL"


def check_nccl() -> List[Finding]:
    """The NCCL of the python3 on PATH, or the system's. Nothing is said where there is none."""
    program = shutil.which("python3") or "/bin/sh"
    try:
        nccl = find_nccl(program)
        name = name_of(nccl)
    except (CliError, OSError, ValueError):
        return []
    try:
        shim_of(nccl)
    except CliError as error:
        return [Finding(NOTE, f"crossrail cannot stand in the place of {nccl}: {str(error).rstrip('.')}", "Programs that call NCCL run as they do without crossrail.")]
    return [Finding(OK, f"{name} ({nccl}): 'crossrail run --nccl' stands in its place")]
