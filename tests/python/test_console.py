"""Tables and sentences on the terminal: as wide as it is, and nothing lost where it is narrow."""

import os
import subprocess
import sys

import pytest
from rich.table import Table

from crossrail.console import FittingConsole, narrowed
from crossrail.places import source_tree


def shown(width, *columns):
    """The lines of a table of (heading, how, cells) on a console of this width."""
    console = FittingConsole(width=width, record=True, highlight=False)
    table = Table()
    for heading, how, _ in columns:
        table.add_column(heading, **how)
    for cells in zip(*(cells for _, _, cells in columns)):
        table.add_row(*cells)
    console.print(table)
    return console.export_text().splitlines()


WORDS = ("what it does", {}, ["carries the blocks of all ranks by way of the leaders", "short"])
NUMBERS = ("calls of a rank", {"justify": "right"}, ["3 859", "0.375 [0.374, 0.375]"])


@pytest.mark.parametrize("width", [30, 40, 47, 60, 80])
def test_a_table_is_as_wide_as_the_console_where_its_words_can_be_broken(width):
    lines = shown(width, WORDS, NUMBERS)
    least = len("carries") + len("0.375 [0.374, 0.375]") + 7
    assert {len(line) for line in lines} == {max(least, min(width, 80))}
    assert any("0.375 [0.374, 0.375]" in line for line in lines) and not any("…" in line for line in lines)


def test_a_table_is_no_wider_than_it_needs_to_be():
    assert len(shown(200, WORDS, NUMBERS)[0]) == len(WORDS[2][0]) + len("0.375 [0.374, 0.375]") + 7


def test_nothing_is_lost_where_columns_cannot_get_narrower():
    lines = shown(10, ("block", {"no_wrap": True}, ["1 MiB to 2 MiB"]), ("algorithm", {}, ["node_single_copy"]))
    assert "1 MiB to 2 MiB" in lines[3] and "node_single_copy" in lines[3] and len({len(line) for line in lines}) == 1


def test_the_widest_columns_give_way_first():
    assert narrowed([(5, 50), (5, 20), (9, 9)], 49) == [20, 20, 9] and narrowed([(5, 50), (5, 20), (9, 9)], 5) == [5, 5, 9]
    assert narrowed([(5, 50)], 100) == [50]


@pytest.mark.parametrize("columns, width", [(None, 140), ("40", 40), ("200", 200), ("3", 20), ("x", 140)])
def test_sentences_are_as_wide_as_columns_says(columns, width):
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    environment.update({"PYTHONPATH": str(source_tree() / "python"), **({"COLUMNS": columns} if columns else {})})
    said = subprocess.run([sys.executable, "-c", "from crossrail.console import out; out.print('a ' * 500)"], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    assert max(len(line.rstrip()) for line in said.stdout.splitlines()) in (width, width - 1)
