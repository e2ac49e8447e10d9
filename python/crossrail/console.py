"""The terminal: one console for results, one for warnings."""

import os
import sys

from rich.console import Console

if sys.stdout is None:  # closed by whoever started this
    sys.stdout = open(os.devnull, "w", encoding="utf-8")
for stream in (sys.stdout, sys.stderr):
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")  # what the terminal has no sign for is no reason to fail

out = Console(highlight=False)


def plain_width() -> None:
    """Tables in a file or a pipe get the width they need rather than those of a terminal."""
    if not sys.stdout.isatty():
        out.width = max(out.width, 140)


def warn(sentence: str) -> None:
    """A sentence on stderr, after 'crossrail: '."""
    print(f"crossrail: {sentence}", file=sys.stderr, flush=True)


plain_width()
