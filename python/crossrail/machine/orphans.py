"""Shared memory that ended jobs have left in /dev/shm.

A segment has a name there only while the ranks of a node open it; one whose creator was killed in that moment keeps it.
"""

import os
import re
import stat
import time
from pathlib import Path
from typing import Iterator, List

NAME = re.compile(r"crossrail\.([0-9a-f]{16}|nccl\.[0-9a-f]{32})$")
AGE_S = 600.0  # opening takes seconds; processes of other containers cannot be seen


def open_files(process: Path) -> Iterator[str]:
    """The paths that a process has open or mapped; none where it has ended or belongs to somebody else."""
    try:
        for descriptor in (process / "fd").iterdir():
            yield os.readlink(descriptor)
        for line in (process / "maps").read_text().splitlines():
            yield line[line.find("/"):] if "/" in line else ""
    except OSError:
        return


def is_old_file_of_mine(path: Path, now: float) -> bool:
    """Whether it is a plain file of this user that was last changed AGE_S ago."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and now - status.st_mtime >= AGE_S


def find(folder: Path = Path("/dev/shm"), processes: Path = Path("/proc")) -> List[Path]:
    """The segments of this user that are old and that no process has open, in order of their names."""
    now = time.time()
    try:
        named = {str(path) for path in folder.iterdir() if NAME.match(path.name) and is_old_file_of_mine(path, now)}
    except OSError:
        return []
    if named:
        for process in processes.iterdir():
            if process.name.isdigit():
                named.difference_update(open_files(process))
    return [Path(path) for path in sorted(named)]
