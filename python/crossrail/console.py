"""The terminal: one console for results, one for warnings."""

import sys

from rich.console import Console

out = Console(highlight=False)


def plain_width() -> None:
    """Tables in a file or a pipe get the width they need rather than 80 columns."""
    if not sys.stdout.isatty():
        out.width = max(out.width, 120)


def warn(sentence: str) -> None:
    """A sentence on stderr, after 'crossrail: '."""
    print(f"crossrail: {sentence}", file=sys.stderr, flush=True)


plain_width()
