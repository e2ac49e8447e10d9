"""The files that commands write: looked at before anything is run or measured, and whole, or as they were before."""

import os
import secrets
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, List, Optional, TextIO

from crossrail.console import warn
from crossrail.errors import CliError

OPEN_ALREADY = ("/dev/std", "/dev/fd/", "/proc/")  # names of what somebody has open and goes on with


def check_folder(folder: Path, made: bool = False) -> None:
    """Raises CliError where nothing can be written into it; `made`: it may be missing, and is made later."""
    there = next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists())
    if there != folder.absolute() and not made:
        raise CliError(f"There is no folder {folder}.")
    if not there.is_dir():
        raise CliError(f"Nothing can be written to {folder}: {there} is no folder.")
    if not os.access(there, os.W_OK):
        raise CliError(f"Nothing can be written to {folder}.")


def identity(file: Path) -> Any:
    """The same for all names of one file. Raises CliError where the name leads nowhere."""
    try:
        there = file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return os.path.realpath(file)
    except OSError as error:
        raise CliError(f"{file} cannot be written: {error.strerror}.") from None
    return there.st_dev, there.st_ino


def check_files(*files: Optional[Path], read: Iterable[Path] = ()) -> None:
    """Raises CliError where one of them cannot be written, is among those that are `read`, or two are the same; None: not asked for."""
    sources = [identity(file) for file in read if file.exists()]
    known: List[Any] = []
    for file in filter(None, files):
        name = identity(file)
        if file.is_dir():
            raise CliError(f"{file} is a folder; name a file.")
        if not file.exists():
            check_folder(Path(os.path.realpath(file)).parent)
        elif not os.access(file, os.W_OK):
            raise CliError(f"Nothing can be written to {file}.")
        if name in sources:
            raise CliError(f"{file} is what is read here: name another file for the result.")
        if name in known and (file.is_file() or not file.exists()):
            raise CliError(f"Two results would be written to {file}: name two files.")
        known.append(name)


def replaceable(path: Path) -> bool:
    """Whether a new file may take its place: not that of a device or pipe, of what is open already, or of somebody else's file."""
    if str(path.absolute()).startswith(OPEN_ALREADY):
        return False
    try:
        there = path.stat()
    except FileNotFoundError:
        return True
    return stat.S_ISREG(there.st_mode) and there.st_uid == os.geteuid() and os.access(os.path.dirname(os.path.realpath(path)), os.W_OK)


@contextmanager
def replacing(target: str) -> Iterator[TextIO]:
    """A new file beside the target, which takes its place and mode at the end; where something goes wrong it is removed."""
    beside = os.path.join(os.path.dirname(target), f".crossrail.{secrets.token_hex(8)}")
    try:
        with open(beside, "x", encoding="utf-8", errors="replace") as file:
            yield file
        if os.path.exists(target):
            os.chmod(beside, stat.S_IMODE(os.stat(target).st_mode))
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


@contextmanager
def writing(path: Path) -> Iterator[TextIO]:
    """The file to write text into; what was there before stays until all is written. Raises CliError where it cannot be written."""
    try:
        with replacing(os.path.realpath(path)) if replaceable(path) else open(path, "w", encoding="utf-8", errors="replace") as file:
            yield file
    except OSError as error:
        raise CliError(f"{path} cannot be written: {error.strerror}.") from error


def write_file(path: Path, text: str) -> None:
    """Raises CliError where that cannot be."""
    with writing(path) as file:
        file.write(text)


def result_kept(keep: Callable[[], None], code: int) -> int:
    """Keeps a result of a job that has ended with `code`; where that cannot be it is said, and the exit code of a job that went well becomes the error's."""
    try:
        keep()
    except CliError as error:
        warn(str(error))
        return code or error.exit_code
    return code
