"""Writes the manual page and the shell completion of the command line: command_pages.py FOLDER.

Both come from the tree of commands that Typer has, so they say what `crossrail --help` says. The completion asks the
installed program, in Typer's own way.
"""

import re
import sys
from pathlib import Path
from typing import Any, List

import typer
from typer.completion import get_completion_script

from crossrail import __version__
from crossrail.cli import app as command_line

COMPLETION_FILES = {"bash": "crossrail.bash", "zsh": "_crossrail", "fish": "crossrail.fish"}


def roff(text: str) -> str:
    """The text with what roff would take for its own escaped."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def roff_paragraphs(help_text: str) -> List[str]:
    r"""A help text's paragraphs; those that begin with \b keep their lines."""
    lines: List[str] = []
    for paragraph in help_text.strip().split("\n\n"):
        as_it_is = paragraph.startswith("\b")
        body = roff(paragraph.lstrip("\b").strip("\n") if as_it_is else " ".join(paragraph.split()))
        lines += [".PP", ".nf", body, ".fi"] if as_it_is else [".PP", body]
    return lines


def roff_options(command: Any) -> List[str]:
    """The arguments and options of a command, each with its help."""
    lines: List[str] = []
    for parameter in command.params:
        if getattr(parameter, "hidden", False):
            continue
        if parameter.param_type_name == "argument":
            name = f"\\fI{roff(parameter.metavar or parameter.name.upper())}\\fR"
        else:
            name = ", ".join(f"\\fB{roff(word)}\\fR" for word in [*parameter.opts, *parameter.secondary_opts])
            if not parameter.is_flag and not parameter.count:
                name += f" \\fI{roff((parameter.metavar or parameter.name).upper())}\\fR"
        lines += [".TP", name, roff(" ".join((parameter.help or "").split()))]
    return lines


def manual(commands: Any) -> str:
    """crossrail.1."""
    lines = [f'.TH CROSSRAIL 1 "" "crossrail {__version__}" "User Commands"', ".SH NAME",
             "crossrail \\- faster collectives for unmodified MPI programs", ".SH SYNOPSIS",
             "\\fBcrossrail\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]", ".SH DESCRIPTION",
             *roff_paragraphs(commands.help or ""), ".SH COMMANDS"]
    for name, command in sorted(commands.commands.items()):
        if not command.hidden:
            lines += [f".SS crossrail {roff(name)}", *roff_paragraphs(command.help or ""), *roff_options(command)]
    lines += [".SH EXIT STATUS", "0, the program's own exit code, 2 for an error of crossrail's own, 130 after Ctrl\\-C.",
              ".SH SEE ALSO", ".BR mpirun (1)"]
    return "\n".join(line for line in lines if line) + "\n"


def main() -> None:
    """Writes the files into the folder named."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    command_line.register()
    for shell, name in COMPLETION_FILES.items():
        script = get_completion_script(prog_name="crossrail", complete_var=command_line.COMPLETION, shell=shell)
        (folder / name).write_text(script.strip() + "\n")
    (folder / "crossrail.1").write_text(manual(typer.main.get_command(command_line.app)))


if __name__ == "__main__":
    main()
