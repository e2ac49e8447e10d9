"""The terminal: one console for results, one for warnings."""

import os
import sys
from typing import Any, List, Tuple

from rich.console import Console
from rich.measure import Measurement
from rich.table import Column, Table

if sys.stdout is None:  # closed by whoever started this
    sys.stdout = open(os.devnull, "w", encoding="utf-8")
for stream in (sys.stdout, sys.stderr):
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")  # what the terminal has no sign for is no reason to fail

LEAST_WIDTH = 20
WIDTH_IN_A_FILE = 140
ENDLESS = 10_000  # letters a line, where what something needs is asked


class FittingConsole(Console):
    """A console whose tables lose nothing: they are as narrow as it is, or as their words and numbers let them be."""

    def print(self, *objects: Any, **how: Any) -> None:
        """As Console.print."""
        tables = [one for one in objects if isinstance(one, Table)]
        for table in tables:
            fit(self, table)
        super().print(*objects, **({"crop": False} if tables else {}), **how)


def column_widths(console: Console, column: Column) -> Tuple[int, int]:
    """The least and the most letters of a column's cells. Numbers, which stand at the right, are never broken; headings are, at spaces."""
    endless = console.options.update_width(ENDLESS)
    cells = [Measurement.get(console, endless, one) for one in column.cells]
    heading = Measurement.get(console, endless, column.header)
    whole = column.no_wrap or column.justify == "right"
    least = max([1, *(one.maximum if whole else one.minimum for one in cells)])
    return max(least, heading.minimum), max([1, heading.maximum, *(one.maximum for one in cells)])


def fit(console: Console, table: Table) -> None:
    """Sets the widths of a table and its columns: those of the console, or as near as can be."""
    ranges = [column_widths(console, column) for column in table.columns]
    around = Measurement.get(console, console.options.update_width(ENDLESS), table).maximum - sum(most for _, most in ranges)
    widths = narrowed(ranges, console.width - around)
    for column, width in zip(table.columns, widths):
        column.width, column.no_wrap = width, False  # there is room for what must not be broken
    table.width = sum(widths) + around


def narrowed(ranges: List[Tuple[int, int]], width: int) -> List[int]:
    """A width for every column between its least and its most: the widest give way first, until all take `width` together."""
    widths = [most for _, most in ranges]
    while sum(widths) > width:
        widest = max((at for at, (least, _) in enumerate(ranges) if widths[at] > least), key=lambda at: widths[at], default=None)
        if widest is None:
            break
        widths[widest] -= 1
    return widths


def plain_width() -> None:
    """Sentences are as wide as COLUMNS says; in a file or a pipe, where nothing says so, wider than on most terminals."""
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS", "").isdigit():
        out.width = max(out.width, WIDTH_IN_A_FILE)
    out.width = max(out.width, LEAST_WIDTH)


def warn(sentence: str) -> None:
    """A sentence on stderr, after 'crossrail: '."""
    print(f"crossrail: {sentence}", file=sys.stderr, flush=True)


out = FittingConsole(highlight=False)
plain_width()
