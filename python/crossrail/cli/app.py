"""The command line: `crossrail COMMAND ...`."""

import os
import sys
from typing import List, Optional

import typer
from typer.completion import completion_init

from crossrail import __version__
from crossrail.cli.words import split_cluster, split_marked, split_run
from crossrail.console import warn
from crossrail.errors import EXIT_CODE, CliError, Stopped, did_you_mean

HELP = """crossrail carries MPI_Alltoall of unmodified programs through the shared memory of the node.

Start a program with it: crossrail run -n 8 ./app. Whatever it does not handle goes, untouched, to the
MPI library; tables call that "native". crossrail's own errors are one sentence, and exit code 2.
"""

COMPLETION = "_CROSSRAIL_COMPLETE"  # set by the installed shell completion, which asks this program

app = typer.Typer(help=HELP, no_args_is_help=True, add_completion=False, rich_markup_mode=None,
                  context_settings={"help_option_names": ["-h", "--help"]})


@app.callback(invoke_without_command=True)
def start(
    show_version: bool = typer.Option(False, "-v", "--version", help="Show the version and exit.", is_eager=True),
) -> None:
    """The options before a command."""
    if show_version:
        typer.echo(f"crossrail {__version__}")
        raise typer.Exit()


def register() -> None:
    """Imports the command files, each of which adds its commands to `app`."""
    from crossrail.cli import bench, cluster, demo, doctor, information, performance, replay, report, run, trace, tune

    for module in (run, replay, report, trace, cluster, information, bench, tune, doctor, demo, performance):
        module.register(app)
    if COMPLETION in os.environ:
        completion_init()


def usage_sentence(error: Exception, command: List[str], known: List[str]) -> str:
    """What the parser found wrong, as a sentence; where a command is misspelled, with the nearest one."""
    sentence = " ".join(str(error.format_message()).split()).rstrip(".")  # type: ignore[attr-defined]
    sentence = sentence.replace(" Did you mean", ". Did you mean")
    near = did_you_mean(command[0], known) if command and command[0] not in known else ""
    return f"{sentence}.{near}" if not sentence.endswith("?") else sentence


def main(words: Optional[List[str]] = None) -> int:
    """Runs the command line (default: this process's); returns the exit code."""
    words = list(sys.argv[1:] if words is None else words)
    command = words[:1]
    split = {("run",): split_run, ("cluster",): split_cluster}.get(tuple(command), split_marked)
    parts = split(words[1:])
    register()
    commands = typer.main.get_command(app)
    try:
        code = commands.main(args=command + parts.own, obj=parts, prog_name="crossrail", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except CliError as error:
        warn(str(error))
        return error.exit_code
    except OSError as error:
        warn(f"{error.filename or 'The output cannot be written'}: {error.strerror}.")
        return EXIT_CODE
    except (KeyboardInterrupt, typer.Abort):
        warn("Stopped.")
        return Stopped.exit_code
    except typer.Exit as stop:
        return stop.exit_code
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except Exception as error:  # the parser's own, whose module may be part of Typer
        if not hasattr(error, "format_message"):
            raise
        warn(usage_sentence(error, command, sorted(commands.commands)))
        return EXIT_CODE
