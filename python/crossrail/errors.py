"""The errors that the commands show to people: a sentence, no traceback."""

EXIT_CODE = 2  # of every command that ends by an error of crossrail's; a program that was run has codes of its own


class CliError(Exception):
    """Something the user can act on; `str(error)` is a complete sentence."""

    exit_code = EXIT_CODE


class Stopped(CliError):
    """The user has stopped it."""

    exit_code = 130  # a shell's, for Ctrl-C
