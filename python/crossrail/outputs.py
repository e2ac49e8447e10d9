"""The files that commands write: looked at before anything is run or measured, so that no result is lost."""

import os
from pathlib import Path
from typing import List, Optional

from crossrail.errors import CliError


def check_folder(folder: Path, made: bool = False) -> None:
    """Raises CliError where nothing can be written into it; `made`: it may be missing, and is made later."""
    there = next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists())
    if there != folder.absolute() and not made:
        raise CliError(f"There is no folder {folder}.")
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise CliError(f"Nothing can be written to {folder}.")


def check_files(*files: Optional[Path]) -> None:
    """Raises CliError where one of them cannot be written, or two are the same; None: not asked for."""
    known: List[Path] = []
    for file in filter(None, files):
        if file.is_dir():
            raise CliError(f"{file} is a folder; name a file.")
        if not file.exists():
            check_folder(file.absolute().parent)
        elif not os.access(file, os.W_OK):
            raise CliError(f"Nothing can be written to {file}.")
        if file.resolve() in known and (file.is_file() or not file.exists()):
            raise CliError(f"Two results would be written to {file}: name two files.")
        known.append(file.resolve())


def write_file(path: Path, text: str) -> None:
    """Raises CliError where that cannot be."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CliError(f"{path} cannot be written: {error.strerror}.") from error
