"""Measurements by the number of processes a GPU as tables: on the terminal, on a page, in the documentation."""

from html import escape
from typing import List, Tuple

from rich.table import Table
from rich.text import Text

from crossrail.bench.measurements import Measurement, compare, count_words, of_processes, rivals
from crossrail.console import out
from crossrail.report.chart import Chart
from crossrail.report.chart_drawing import draw
from crossrail.report.contender_tables import comparison_table, shown
from crossrail.report.document import html_table
from crossrail.report.process_charts import PAPER, bandwidth_chart, gain_chart, gains, moved_by, rows_by_count, time_chart
from crossrail.sizes import format_median_us, format_size

Rows = List[List[str]]
PAPER_HEADINGS = ("what", "processes a GPU", "times faster than one")


def charts(measurement: Measurement) -> List[Tuple[str, Chart]]:
    """The charts, with a word for each."""
    return [("time", time_chart(measurement)), ("bandwidth", bandwidth_chart(measurement)), ("processes", gain_chart(measurement))]


def gain_text(gain: float) -> str:
    """'1.40', hardly anything '<0.01'."""
    return f"{gain:.2f}" if gain >= 0.005 else "<0.01"


def median_headings(measurement: Measurement) -> List[str]:
    """Of `median_rows`."""
    counts = list(rows_by_count(measurement))
    return ["size", *(f"{count_words(count)}, p50 µs" for count in counts), *(f"{count} / {counts[0]}" for count in counts[1:])]


def median_rows(measurement: Measurement) -> Rows:
    """A row for every size: the medians with each number of processes, and how many times faster than with the fewest."""
    found, gain = rows_by_count(measurement), gains(measurement)
    medians = {count: {one["bytes"]: one for one in rows} for count, rows in found.items()}
    rows = []
    for size in sorted({size for by_size in medians.values() for size in by_size}):
        times = [format_median_us(by_size[size]) if size in by_size else "-" for by_size in medians.values()]
        rows.append([format_size(size), *times, *(gain_text(gain[count][size]) if size in gain[count] else "-" for count in list(found)[1:])])
    return rows


def paper_rows(measurement: Measurement) -> Rows:
    """What the paper states, and below it the same of this measurement: the largest size, the number of processes that is best there."""
    stated = PAPER.get(measurement["collective"], ())
    found = gains(measurement)
    if not stated or len(found) < 2 or min(found) != 1:
        return []
    rows = [[f"the paper: {one.place}, {one.words}", str(one.processes or "up to 16"), f"{one.gain:.2f}"] for one in stated]
    largest = max(size for by_size in found.values() for size in by_size)
    best = max((count for count in found if count > 1 and largest in found[count]), key=lambda count: found[count][largest], default=None)
    return [*rows, [f"here: {format_size(largest)}", str(best), gain_text(found[best][largest])]] if best else []


def process_section(measurement: Measurement) -> str:
    """The figures of a page: charts, medians, the paper's beside ours; crossrail against the reference with each number of processes."""
    medians = median_rows(measurement)
    parts = [draw(chart) for _, chart in charts(measurement)]
    if medians:
        parts.append(f"<h3>{escape(shown(moved_by(measurement)))}: medians by processes a GPU</h3>"
                     + html_table(median_headings(measurement), medians, (), "Medians by processes a GPU"))
    beside = paper_rows(measurement)
    if beside:
        parts.append("<h3>Beside the paper on several processes a GPU</h3>" + html_table(PAPER_HEADINGS, beside, (0,), "Beside the paper"))
    for count in measurement["process_counts"]:
        one = of_processes(measurement, count)
        table = comparison_table(one, compare(one)) if "auto" in rivals(one) else ""
        parts.append(f"<details><summary>With {count_words(count)} a GPU</summary>{table}</details>" if table else "")
    return "".join(parts)


def show_by_processes(measurement: Measurement) -> None:
    """Prints the medians by the number of processes, and what the paper states."""
    table = Table(title=f"{shown(moved_by(measurement))} by processes a GPU" if measurement["results"] else "")
    rows = median_rows(measurement)
    for heading in median_headings(measurement):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*row)
    if rows:
        out.print(table)
    for what, processes, gain in paper_rows(measurement):
        out.print(Text(f"{what}: {gain} times as fast with {processes} processes as with one.", "dim"))


def markdown_lines(measurement: Measurement, images: List[str]) -> List[str]:
    """The pictures, and the medians and the paper's figures as tables, for the documentation."""
    lines = [line for image in images for line in (f"![{measurement['collective']} by processes a GPU]({image})", "")]
    for headings, rows in ((median_headings(measurement), median_rows(measurement)), (PAPER_HEADINGS, paper_rows(measurement))):
        if rows:
            marks = [":--" if heading == "what" else "--:" for heading in headings]
            lines += [*(f"| {' | '.join(cells)} |" for cells in (headings, marks, *rows)), ""]
    return lines
