"""Writing tuning tables, the CSV of tuning/default.csv: from the ranges decided for each layout."""

import csv
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional, Sequence, Set, Union

from crossrail.algorithms import compact
from crossrail.errors import CliError
from crossrail.inputs import printable, read_text
from crossrail.outputs import writing
from crossrail.tuning.candidates import Layout
from crossrail.tuning.decision import Range

COLUMNS = ["collective", "memory", "mpi", "nodes", "ranks_per_node", "ranks_per_device", "up_to_bytes", "algorithm", "parameters"]
KEY = slice(0, 6)  # all before up_to_bytes
RANGE = re.compile(r"\*|\d+(-\d*)?")  # of numbers
LEFT_OUT = {"mpi": "*", "ranks_per_device": "*", "parameters": ""}  # columns that a table may lack
WITHOUT_HEADER = [name for name in COLUMNS if name not in ("mpi", "ranks_per_device")]

MOST_SHOWN = 100  # letters of a row

Row = List[str]


@dataclass
class Tuned:
    """The ranges of one layout; `any_size`: one winner for all sizes."""

    collective: str
    layout: Layout
    ranges: List[Range]
    any_size: bool = False


def spans(measured: Set[int]) -> Dict[int, str]:
    """The ranks per node that each measured number stands for: up to the geometric middle between it and the next.

    {4, 16, 56} -> 4-8, 9-29, 30-56. Nothing is said below the first and above the last.
    """
    ordered = sorted(measured)
    texts: Dict[int, str] = {}
    low = ordered[0] if ordered else 0
    for number, following in zip(ordered, [*ordered[1:], None]):
        high = number if following is None else max(number, int((number * following) ** 0.5))
        texts[number] = f"{low}-{high}" if high > low else str(low)
        low = high + 1
    return texts


def key_of(layout: Layout, ranks_per_node: str) -> Row:
    """The cells from mpi to ranks_per_device: rows hold for the MPI library that was measured, of any version, and for one rank a device."""
    library = re.match("[a-z]*", layout.mpi).group(0)
    return [library or "*", str(layout.nodes), ranks_per_node, "*" if layout.memory == "host" else "1"]


def rows_of(tuned: Tuned, ranks_per_node: str) -> List[Row]:
    """The rows of one layout, smallest blocks first; neighbouring ranges with one winner are one row."""
    rows = []
    for one, following in zip(tuned.ranges, [*tuned.ranges[1:], None]):
        if following and following.winner == one.winner:
            continue
        name, _, parameters = one.winner.partition(" ")
        up_to = "*" if tuned.any_size else compact(one.high)
        rows.append([tuned.collective, tuned.layout.memory, *key_of(tuned.layout, ranks_per_node), up_to, name, parameters])
    return rows


def all_rows(tuned: List[Tuned]) -> List[Row]:
    """The rows of all layouts."""
    rows = []
    for nodes in sorted({one.layout.nodes for one in tuned}):
        here = sorted((one for one in tuned if one.layout.nodes == nodes), key=lambda one: one.layout.ranks_per_node)
        texts = spans({one.layout.ranks_per_node for one in here})
        rows += [row for one in here for row in rows_of(one, texts[one.layout.ranks_per_node])]
    return rows


def problem_of_row(columns: List[str], cells: List[str]) -> str:
    """What is wrong with a row, as the library sees it (src/selection/tuning_table.cpp): 'without algorithm'; empty: nothing."""
    named = {**LEFT_OUT, **dict(zip(columns, cells))}
    if len(cells) > len(columns):
        return "of more cells than columns"
    missing = [name for name in COLUMNS if name not in named]
    odd = [name for name in ("nodes", "ranks_per_node") if name in named and not RANGE.fullmatch(named[name])]
    return f"without {missing[0]}" if missing else f"of which {odd[0]} is no number, range or *" if odd else ""


def read_rows(text: str) -> List[Row]:
    """The rows of a table, whose header names its columns, with the cells of COLUMNS. Raises CliError for what is no table."""
    columns, rows = WITHOUT_HEADER, []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.partition("#")[0].split(",")]
        if "collective" in cells:
            columns = cells
            unknown = [name for name in columns if name not in COLUMNS]
            if unknown:
                raise CliError(f"It has a column '{printable(unknown[0])}'.")
        elif any(cells):
            wrong = problem_of_row(columns, cells)
            if wrong:
                raise CliError(f"It has a row {wrong}: {printable(line.strip())[:MOST_SHOWN]}")
            named = {**LEFT_OUT, **dict(zip(columns, cells))}
            rows.append([named[name] for name in COLUMNS])
    return rows


def older_rows(path: Path) -> List[Row]:
    """The rows of the table that is in this file. Raises CliError where it is something else, which nobody wants to lose."""
    try:
        return read_rows(read_text(path)) if path.is_file() else []
    except CliError as error:
        raise CliError(f"{path} is there, and is no tuning table to add to. {error}") from None


def kept_rows(older: List[Row], rows: List[Row]) -> List[Row]:
    """The rows of an older table that the new ones do not replace."""
    replaced = [row[KEY] for row in rows]
    return [row for row in older if row[KEY] not in replaced]


def write_table(path: Path, comments: List[str], tuned: List[Tuned]) -> Optional[int]:
    """Writes the table; rows of a table already there that are not replaced stay, below. Returns their number."""
    return write_rows(path, comments, all_rows(tuned))


def write_rows(path: Path, comments: List[str], lines: Sequence[Union[str, Row]]) -> int:
    """As `write_table`, of rows and lines of comment in their order."""
    older = kept_rows(older_rows(path), [line for line in lines if not isinstance(line, str)])
    with writing(path) as file:
        table = csv.writer(file, lineterminator="\n")
        file.writelines(f"# {comment}\n" for comment in comments)
        table.writerow(COLUMNS)
        for line in lines:
            if isinstance(line, str):
                file.write(f"{line}\n")
            else:
                table.writerow(line)
        if older:
            file.write("# From the table that was in this file before.\n")
            table.writerows(older)
    return len(older)
