"""Splitting a command line into crossrail's options, the launcher's, and the program.

Done by hand, before Typer: launchers have options such as -np and -genv that a parser would take apart.
"""

from dataclasses import dataclass, field
from typing import List, Sequence

VALUE_OPTIONS = ("-n", "--ranks", "--mpi", "--launcher", "--report-folder", "--html")
FLAG_OPTIONS = ("--report", "--show", "--help", "-h")
CLUSTER_VALUE_OPTIONS = (*VALUE_OPTIONS, "-H", "--hosts", "--per-host", "--bandwidth")
CLUSTER_FLAG_OPTIONS = (*FLAG_OPTIONS, "--native")


@dataclass
class RunWords:
    """The three parts of `crossrail run ...` and `crossrail cluster ...`."""

    own: List[str] = field(default_factory=list)
    launcher: List[str] = field(default_factory=list)
    program: List[str] = field(default_factory=list)


def split_run(words: List[str], value_options: Sequence[str] = VALUE_OPTIONS, flag_options: Sequence[str] = FLAG_OPTIONS) -> RunWords:
    """`-n 4 --bind-to core -- ./app x` -> own, launcher, program.

    With '--', whatever stands before it and is not crossrail's goes to the launcher. Without it, the first
    word that is no option starts the program.
    """
    parts = RunWords()
    marked = "--" in words
    position = 0
    while position < len(words):
        word = "-n" if words[position] == "-np" else words[position]
        name = word.partition("=")[0]
        if word == "--" or not (marked or word.startswith("-")):
            parts.program = words[position + (word == "--"):]
            break
        if word in value_options:
            parts.own += [word, *words[position + 1:position + 2]]
            position += 1
        elif word in flag_options or (name != word and name in value_options):
            parts.own.append(word)
        else:
            parts.launcher.append(word)
        position += 1
    return parts


def split_cluster(words: List[str]) -> RunWords:
    """As `split_run`, with the options of `crossrail cluster`."""
    return split_run(words, CLUSTER_VALUE_OPTIONS, CLUSTER_FLAG_OPTIONS)


def split_marked(words: List[str]) -> RunWords:
    """For commands without a program: what follows '--' is the launcher's."""
    if "--" not in words:
        return RunWords(own=list(words))
    mark = words.index("--")
    return RunWords(own=words[:mark], launcher=words[mark + 1:])
