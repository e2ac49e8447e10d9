"""The command line: `crossrail COMMAND ...`."""

import sys
from typing import List, Optional

import typer

from crossrail import __version__
from crossrail.cli.words import split_cluster, split_marked, split_run
from crossrail.console import warn
from crossrail.errors import EXIT_CODE, CliError

HELP = """crossrail carries MPI_Alltoall of unmodified programs through the shared memory of the node.

Start a program with it: crossrail run -n 8 ./app. Whatever it does not handle goes, untouched, to the
MPI library; tables call that "native". crossrail's own errors are one sentence, and exit code 2.
"""

app = typer.Typer(help=HELP, no_args_is_help=True, add_completion=False, rich_markup_mode=None,
                  context_settings={"help_option_names": ["-h", "--help"]})


@app.callback(invoke_without_command=True)
def start(
    show_version: bool = typer.Option(False, "--version", help="Show the version and exit.", is_eager=True),
) -> None:
    """The options before a command."""
    if show_version:
        typer.echo(f"crossrail {__version__}")
        raise typer.Exit()


def register() -> None:
    """Imports the command files, each of which adds its commands to `app`."""
    from crossrail.cli import bench, cluster, demo, doctor, information, performance, report, run, tune

    for module in (run, report, cluster, information, bench, tune, doctor, demo, performance):
        module.register(app)


def main(words: Optional[List[str]] = None) -> int:
    """Runs the command line (default: this process's); returns the exit code."""
    words = list(sys.argv[1:] if words is None else words)
    command = words[:1]
    split = {("run",): split_run, ("cluster",): split_cluster}.get(tuple(command), split_marked)
    parts = split(words[1:])
    register()
    try:
        typer.main.get_command(app).main(args=command + parts.own, obj=parts, prog_name="crossrail")
    except CliError as error:
        warn(str(error))
        return error.exit_code
    except OSError as error:
        warn(f"{error.filename or 'A file'}: {error.strerror}.")
        return EXIT_CODE
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return 0
