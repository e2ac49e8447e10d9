"""A simulation as one self-contained HTML page: latency by size for each number of nodes and by nodes for each size, tables, the machine."""

import json
import math
from html import escape
from typing import Any, Dict, List, Tuple

from crossrail.report.chart import Chart, Series
from crossrail.report.chart_drawing import draw
from crossrail.report.chart_style import colour_of
from crossrail.report.document import document, html_table
from crossrail.report.simulation_rows import (TRAFFIC_EXPLANATION, WORDS, caveats, missing_sentences, node_title, time_headings, time_rows, title,
                                              traffic_headings, traffic_rows, wrong_sentences)
from crossrail.report.size_words import size_axis
from crossrail.simulation.cells import Cell, cells, has_bands, simulated_nodes
from crossrail.simulation.peers import PEERS
from crossrail.sizes import format_size

Result = Dict[str, Any]
MOST_SIZES = 8  # charts by nodes on a page
BANDS = "Bands: between the favourable and the unfavourable ends of the machine file's ranges; lines: their geometric mean."


def styles(result: Result) -> Dict[str, int]:
    """The number of the style of every algorithm, the same in all charts; crossrail's own choice has its colour."""
    others = [name for name in result["algorithms"] if name != "auto"]
    return {name: colour_of(name, others.index(name) if name in others else 0) for name in result["algorithms"]}


def series(result: Result, name: str, placed: List[Tuple[float, Cell]]) -> Series:
    """The line of an algorithm, with the band between the cases around it; `placed` are its cells, each with its place on the axis."""
    known = [(at, ends) for at, cell in placed for ends in [cell.ends("time_us")] if ends and ends[0] > 0]
    points = [(at, math.sqrt(low * high)) for at, (low, high) in known]
    band = [(at, low, high) for at, (low, high) in known] if has_bands(result) else []
    words = f"{PEERS[name]}'s choice" if name in PEERS else "crossrail's choice" if name == "auto" else name
    return Series(words, styles(result)[name], points, band, seen=True)


def size_chart(result: Result, nodes: int) -> Chart:
    """Time against size on a number of nodes, a line for every algorithm."""
    found = cells(result, nodes)
    chart = Chart(f"Time of a call by size: {node_title(result, nodes)}", "time of a call", " µs", bands=BANDS, size_label=size_axis(result["collective"]))
    chart.series = [series(result, name, [(size, cell) for (size, one), cell in found.items() if one == name]) for name in result["algorithms"]]
    return chart


def node_chart(result: Result, size: int) -> Chart:
    """Time against the number of nodes at a size, a line for every algorithm."""
    counts = sorted(simulated_nodes(result))
    found = {nodes: cells(result, nodes) for nodes in counts}
    chart = Chart(f"Time of a call by nodes: {format_size(size)}, {result['ranks_per_node']} ranks a node", "time of a call", " µs", bands=BANDS,
                  size_label="nodes", numbers=True)
    chart.series = [series(result, name, [(nodes, found[nodes][(size, name)]) for nodes in counts if (size, name) in found[nodes]]) for name in result["algorithms"]]
    return chart


def thinned(sizes: List[int]) -> List[int]:
    """At most MOST_SIZES of the sizes, evenly apart, the largest among them."""
    stride = -(-len(sizes) // MOST_SIZES) or 1
    return sizes[::-1][::stride][::-1]


def table(headings: List[str], rows: List[List[str]], label: str) -> str:
    """A table, with its words aligned to the left."""
    return html_table(headings, rows, [number for number, heading in enumerate(headings) if heading in WORDS], label)


def node_section(result: Result, nodes: int) -> str:
    """The chart and the tables of a number of nodes."""
    name = node_title(result, nodes)
    return (f"<h2>{escape(name)}</h2>{draw(size_chart(result, nodes))}{table(time_headings(result), time_rows(result, nodes), f'Times, {name}')}"
            f"<h3>Traffic of a node</h3>{table(traffic_headings(), traffic_rows(result, nodes), f'Traffic, {name}')}"
            f'<p class="faint note">{escape(TRAFFIC_EXPLANATION)}</p>')


def machine_section(result: Result) -> str:
    """The numbers of the machine file."""
    rows = [[name, f"{low:g}" if low == high else f"{low:g} to {high:g}"] for name, (low, high) in result["machine"]["values"].items()]
    rows.append(["transport.kind", result["transport"]])
    return (f"<h2>The machine file {escape(result['machine']['file'])}</h2><p class=\"faint\">Times are nanoseconds, bandwidths GB/s.</p>"
            + html_table(["key", "value"], rows, (0,), "The machine"))


def render_simulation(result: Result) -> str:
    """The whole page. The raw data are embedded as JSON."""
    data = json.dumps(result).replace("</", "<\\/")
    parts = [f"<p>{escape(result['machine']['about'])}</p>", f'<p class="faint">Simulated on {escape(result["date"])}, crossrail {escape(result["commit"])}.</p>']
    parts += [f'<p class="bad">{escape(sentence)}</p>' for sentence in [*wrong_sentences(result), *missing_sentences(result)]]
    parts += [f'<p class="faint">{escape(note)}</p>' for note in caveats(result)]
    sizes = [size for size in result["sizes"] if any(one["bytes"] == size for one in result["results"])]
    by_nodes = [draw(node_chart(result, size)) for size in thinned(sizes)] if len(simulated_nodes(result)) > 1 else []
    parts += ["<h2>By number of nodes</h2>", *by_nodes] if by_nodes else []
    parts += [node_section(result, nodes) for nodes in simulated_nodes(result)]
    return document(title(result), [*parts, machine_section(result), f'<script type="application/json" id="simulation">{data}</script>'])
