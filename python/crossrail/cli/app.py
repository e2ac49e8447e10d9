"""The command line: `crossrail COMMAND ...`."""

import inspect
import os
import re
import sys
from pathlib import Path
from typing import Any, List, Optional, get_args, get_type_hints

import typer
from typer.completion import completion_init

from crossrail import __version__
from crossrail.cli.words import split_cluster, split_marked, split_run
from crossrail.console import warn
from crossrail.errors import EXIT_CODE, CliError, Stopped, did_you_mean
from crossrail.inputs import printable
from crossrail.supervise import leaving_by_exception

HELP = """crossrail carries MPI_Alltoall, MPI_Allreduce and others of unmodified programs: through the memory of a node, from GPU to GPU, and in fewer
messages between nodes.

Start a program with it: crossrail run -n 8 ./app. Whatever it does not handle goes, untouched, to the
MPI library; tables call that "native". crossrail's own errors are one sentence, and exit code 2.
"""

PLAIN_WORDS = ((r"\.? Did you mean", ". Did you mean"), (r"is not a valid integer( range)?\b", "is not a whole number"),
               (r"is not a valid float( range)?\b", "is not a number"))  # for those of the parser
UNREAD_PIPE = 141  # a shell's, for SIGPIPE
MOST_SHOWN = 200  # letters of an unforeseen error
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
    """Imports the command files, each of which adds its commands to `app`, once: the parser is made of all that have been added."""
    from crossrail.cli import bench, cluster, demo, doctor, information, performance, replay, report, run, simulate, timeline, trace, tune

    if not app.registered_commands:
        for module in (run, replay, report, trace, timeline, cluster, information, bench, tune, simulate, doctor, demo, performance):
            module.register(app)
    if COMPLETION in os.environ:
        completion_init()


def usage_sentence(error: Exception, command: List[str], known: List[str]) -> str:
    """What the parser found wrong, as a sentence; where a command is misspelled, with the nearest one."""
    sentence = " ".join(str(error.format_message()).split()).rstrip(".")  # type: ignore[attr-defined]
    for pattern, words in PLAIN_WORDS:
        sentence = re.sub(pattern, words, sentence)
    near = did_you_mean(command[0], known) if command and command[0] not in known else ""
    return f"{sentence}.{near}" if not sentence.endswith("?") else sentence


def system_sentence(error: OSError) -> str:
    """What the system refused."""
    try:
        os.getcwd()
    except FileNotFoundError:
        if not error.filename:
            return "The current folder has been removed: change to another one."
    return f"{error.filename or 'The output cannot be written'}: {error.strerror}."


def unforeseen_sentence(error: Exception) -> str:
    """What to do about an error of crossrail's own making."""
    words = " ".join(printable(f"{type(error).__name__}: {error}").split())[:MOST_SHOWN]
    return (f"This should not have happened: {words}. Please report it, with the command and what PYTHONDEVMODE=1 before it prints.")


def refuse_empty_values(command: Any, words: List[str]) -> None:
    """Raises CliError for an option with an empty value: a file's would be the current folder, and a text's would pass for not given."""
    # By the function's annotations: how parameters tell their types differs between versions of Typer.
    kinds = get_type_hints(inspect.unwrap(command.callback)) if command else {}
    needs = {}
    for one in command.params if command else []:
        its_kinds = (kinds.get(one.name), *get_args(kinds.get(one.name)))
        needed = "the name of a file or folder" if Path in its_kinds else "a value" if str in its_kinds else None
        needs.update({option: needed for option in one.opts if needed and option.startswith("-")})
    for word, following in zip(words, [*words[1:], None]):
        option = word[:-1] if word.endswith("=") else word
        if option in needs and (option != word or following == ""):
            raise CliError(f"{option} needs {needs[option]}; none is given.")


def run(words: List[str]) -> int:
    """Runs the command line; returns the exit code."""
    words[:2] = words[1:2] if words[:2] == ["bench", "pingpong"] else words[:2]  # a command with options of its own
    command = words[:1]
    split = {("run",): split_run, ("cluster",): split_cluster}.get(tuple(command), split_marked)
    parts = split(words[1:])
    known: List[str] = []
    try:
        register()
        commands = typer.main.get_command(app)
        known = sorted(commands.commands)
        refuse_empty_values(commands.commands.get(words[0]) if words else None, parts.own)
        code = commands.main(args=command + parts.own, obj=parts, prog_name="crossrail", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except CliError as error:
        warn(str(error))
        return error.exit_code
    except OSError as error:
        warn(system_sentence(error))
        return EXIT_CODE
    except (KeyboardInterrupt, typer.Abort):
        warn("Stopped.")
        return Stopped.exit_code
    except typer.Exit as stop:
        return stop.exit_code
    except SystemExit as stop:  # 1: the parser's or Rich's, for a pipe that nobody reads any more; else that of a signal
        return UNREAD_PIPE if stop.code == 1 else int(stop.code or 0)
    except Exception as error:  # the parser's own, whose module may be part of Typer, or what nobody has foreseen
        if not hasattr(error, "format_message") and sys.flags.dev_mode:
            raise
        warn(usage_sentence(error, command, known) if hasattr(error, "format_message") else unforeseen_sentence(error))
        return EXIT_CODE


def main(words: Optional[List[str]] = None) -> int:
    """Runs the command line (default: this process's); returns the exit code. A signal that ends it leaves nothing behind."""
    with leaving_by_exception():
        return run(list(sys.argv[1:] if words is None else words))
