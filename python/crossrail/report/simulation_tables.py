"""What a simulation found, on the terminal."""

from typing import Any, Dict, List

from rich import box
from rich.table import Table
from rich.text import Text

from crossrail.console import out
from crossrail.report.simulation_rows import (TRAFFIC_EXPLANATION, WORDS, caveats, missing_sentences, node_title, time_headings, time_rows, title,
                                              traffic_headings, traffic_rows, wrong_sentences)
from crossrail.simulation.cells import simulated_nodes

Result = Dict[str, Any]


def sectioned(headings: List[str], rows: List[List[str]]) -> Table:
    """A table with a line between sizes, which stand in the first row of each only."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in headings:
        table.add_column(heading, justify="left" if heading in WORDS else "right", overflow="fold")
    before = None
    for cells in rows:
        if before not in (None, cells[0]):
            table.add_section()
        table.add_row("" if cells[0] == before else cells[0], *cells[1:])
        before = cells[0]
    return table


def show_simulation(result: Result) -> None:
    """Prints times and traffic for each number of nodes, what could not be simulated, and what limits the numbers."""
    out.print(Text(title(result), "bold"))
    for nodes in simulated_nodes(result):
        out.print(Text(f"\n{node_title(result, nodes)}", "bold"))
        out.print(sectioned(time_headings(result), time_rows(result, nodes)))
        out.print(sectioned(traffic_headings(), traffic_rows(result, nodes)))
    if result["results"]:
        out.print(Text(TRAFFIC_EXPLANATION, "dim"))
    for sentence in wrong_sentences(result):
        out.print(Text(sentence, "bold red"))
    for sentence in missing_sentences(result):
        out.print(Text(sentence, "yellow"))
    for note in caveats(result):
        out.print(Text(note, "dim"))
