"""Splitting a command line into crossrail's options, the launcher's, and the program.

Done by hand, before Typer: launchers have options such as -np and -genv that a parser would take apart.
"""

import re
from dataclasses import dataclass, field
from os.path import basename
from typing import List, Sequence

from crossrail.places import FLAVOURS

VALUE_OPTIONS = ("-n", "--ranks", "--mpi", "--launcher", "--report-folder", "--html", "--record", "--trace", "--helpers-per-gpu")
COMMON_FLAG_OPTIONS = ("--report", "--show", "--help", "-h")
FLAG_OPTIONS = (*COMMON_FLAG_OPTIONS, "--mps", "--nccl")
CLUSTER_VALUE_OPTIONS = (*VALUE_OPTIONS, "-H", "--hosts", "--per-host", "--bandwidth")
CLUSTER_FLAG_OPTIONS = (*COMMON_FLAG_OPTIONS, "--native")


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
        if re.fullmatch(r"-[a-zA-Z]\d+", word) and word[:2] in value_options:
            parts.own += [word[:2], word[2:]]
        elif word in value_options:
            parts.own += [word, *words[position + 1:position + 2]]
            position += 1
        elif word in flag_options or (name != word and name in value_options):
            parts.own.append(word)
        else:
            parts.launcher.append(word)
        position += 1
    return with_srun_words(parts)


def with_srun_words(parts: RunWords) -> RunWords:
    """srun has an option --mpi of its own: what is no flavour is srun's where that is the launcher ('--mpi=pmix', '--mpi pmi2')."""
    own = [word for option in parts.own for word in (option.split("=", 1) if option.startswith(("--mpi=", "--launcher=")) else [option])]
    pairs = list(zip(own, own[1:]))
    if not any(option == "--launcher" and basename(value) == "srun" for option, value in pairs):
        return parts
    kept: List[str] = []
    position = 0
    while position < len(own):
        value = own[position + 1] if own[position] == "--mpi" and position + 1 < len(own) else None
        if value is None or value in FLAVOURS:
            kept.append(own[position])
            position += 1
        else:
            parts.launcher.append(f"--mpi={value}")
            position += 2
    return RunWords(kept, parts.launcher, parts.program)


def split_cluster(words: List[str]) -> RunWords:
    """As `split_run`, with the options of `crossrail cluster`."""
    return split_run(words, CLUSTER_VALUE_OPTIONS, CLUSTER_FLAG_OPTIONS)


def split_marked(words: List[str]) -> RunWords:
    """For commands without a program: what follows '--' is the launcher's."""
    if "--" not in words:
        return RunWords(own=list(words))
    mark = words.index("--")
    return RunWords(own=words[:mark], launcher=words[mark + 1:])
