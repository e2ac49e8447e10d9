"""The errors that the commands show to people: a sentence, no traceback."""

from difflib import get_close_matches
from typing import Iterable

EXIT_CODE = 2  # of every command that ends by an error of crossrail's; a program that was run has codes of its own


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """' Did you mean 'run'?', empty where nothing is near."""
    near = get_close_matches(word, list(known), 1, 0.6)
    return f" Did you mean '{near[0]}'?" if near else ""


class CliError(Exception):
    """Something the user can act on; `str(error)` is a complete sentence."""

    exit_code = EXIT_CODE


class NoProgram(CliError):
    """The program to run is not found."""

    exit_code = 127  # a shell's


class NotExecutable(CliError):
    """The program to run may not be executed."""

    exit_code = 126  # a shell's


class Stopped(CliError):
    """The user has stopped it."""

    exit_code = 130  # a shell's, for Ctrl-C
