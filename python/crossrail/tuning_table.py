"""Writing tuning tables, the CSV of tuning/default.csv: from the ranges decided for each layout."""

from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional, Set, Tuple

from crossrail.tuning_candidates import Layout, compact
from crossrail.tuning_decision import Range

COLUMNS = "collective,memory,nodes,ranks_per_node,up_to_bytes,algorithm,parameters"


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


def rows_of(tuned: Tuned, ranks_per_node: str) -> List[str]:
    """The lines of one layout, smallest blocks first; neighbouring ranges with one winner are one line."""
    lines = []
    for one, following in zip(tuned.ranges, [*tuned.ranges[1:], None]):
        if following and following.winner == one.winner:
            continue
        name, _, parameters = one.winner.partition(" ")
        up_to = "*" if tuned.any_size else compact(one.high)
        lines.append(f"{tuned.collective},{tuned.layout.memory},{tuned.layout.nodes},{ranks_per_node},{up_to},{name},{parameters}")
    return lines


def all_rows(tuned: List[Tuned]) -> List[str]:
    """The lines of all layouts."""
    lines = []
    for nodes in sorted({one.layout.nodes for one in tuned}):
        here = sorted((one for one in tuned if one.layout.nodes == nodes), key=lambda one: one.layout.ranks_per_node)
        texts = spans({one.layout.ranks_per_node for one in here})
        lines += [line for one in here for line in rows_of(one, texts[one.layout.ranks_per_node])]
    return lines


def key_of(line: str) -> Tuple[str, ...]:
    """Collective, memory, nodes and ranks per node of a line."""
    return tuple(cell.strip() for cell in line.split(",")[:4])


def kept_rows(text: str, lines: List[str]) -> List[str]:
    """The lines of an older table that the new lines do not replace."""
    replaced = {key_of(line) for line in lines}
    older = [line.partition("#")[0].strip() for line in text.splitlines()]
    return [line for line in older if line and not line.startswith("collective,") and key_of(line) not in replaced]


def write_table(path: Path, comments: List[str], tuned: List[Tuned]) -> Optional[int]:
    """Writes the table; lines of a table already there that are not replaced stay, below. Returns their number."""
    lines = all_rows(tuned)
    older = kept_rows(path.read_text(), lines) if path.exists() else []
    text = [*(f"# {comment}" for comment in comments), COLUMNS, *lines]
    if older:
        text += ["# From the table that was in this file before.", *older]
    path.write_text("\n".join(text) + "\n")
    return len(older)
