"""One self-contained HTML page for measurements: charts, table, machine; follows the reader's light or dark mode."""

import json
from html import escape
from pathlib import Path
from typing import Any, Dict, List, Optional

from crossrail.bench.measurements import (Comparison, Measurement, caveats, compare, contenders, not_run_sentences, reference, results_of, rivals,
                                    small_speedup, title, verdict, wrong_blocks)
from crossrail.errors import CliError
from crossrail.report.chart import CHART_STYLE, Chart, Series, draw
from crossrail.report.parts_table import EXPLANATION, has_parts, part_headings, part_rows
from crossrail.sizes import format_median_us, format_size, format_time_us

STYLE = CHART_STYLE + """
body { margin: 0 auto; max-width: 860px; padding: 24px 20px 60px; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 19px; margin: 36px 0 4px; } p { margin: 6px 0; } .faint { color: var(--faint); }
.bad { color: var(--bad); font-weight: 600; } figure, .tiles > div { background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
figure { margin: 16px 0; padding: 14px 16px 8px; } figcaption { font-weight: 600; }
svg { width: 100%; height: auto; display: block; }
.legend { color: var(--faint); font-size: 13px; } .legend span { margin-right: 16px; }
.key { display: inline-block; width: 10px; height: 10px; border-radius: 50%; margin-right: 6px; }
.tiles { display: flex; gap: 12px; flex-wrap: wrap; margin: 16px 0; } .tiles > div { padding: 10px 16px; } .tiles b { display: block; font-size: 26px; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 14px; }
th, td { text-align: right; padding: 4px 10px; border-bottom: 1px solid var(--line); white-space: nowrap; } th { color: var(--faint); font-weight: 600; }
td.word, th.word { text-align: left; }
""" + "".join(f".key.c{number} {{ background: var(--c{number}); }}\n" for number in range(6))

SHOWN_NAMES = {"native": "native MPI", "auto": "crossrail"}


def colour_of(name: str, index: int) -> int:
    """Native and crossrail keep their colours on every page."""
    return {"native": 1, "auto": 0}.get(name, 2 + index % 4)


def latency_chart(measurement: Measurement) -> Chart:
    """Median time against block size, a line for every contender."""
    chart = Chart("Time of a call (median)", "microseconds", " µs")
    others = 0
    for name in contenders(measurement):
        points = [(one["bytes"], one["p50_us"]) for one in results_of(measurement, name) if one["bytes"] > 0 and one["p50_us"] > 0]
        chart.series.append(Series(SHOWN_NAMES.get(name, name), colour_of(name, others), points))
        others += name not in SHOWN_NAMES
    return chart


def reference_name(measurement: Measurement) -> str:
    """What the times are compared with, as the page calls it."""
    name = reference(measurement)
    return SHOWN_NAMES.get(name, name)


def speedup_chart(measurement: Measurement) -> Chart:
    """How many times faster than the reference, for crossrail and every other contender."""
    compared = reference_name(measurement)
    chart = Chart(f"How many times faster than {compared} (above the dashed line: faster)", f"{compared} / contender", "", reference=1.0)
    others = 0
    for name in rivals(measurement):
        points = [(one.bytes, one.speedup) for one in compare(measurement, name) if one.bytes > 0 and one.speedup > 0]
        chart.series.append(Series(SHOWN_NAMES.get(name, name), colour_of(name, others), points))
        others += name not in SHOWN_NAMES
    return chart


def table_row(one: Comparison) -> str:
    """A size as a table row."""
    checked = f'<span class="bad">{one.wrong} wrong</span>' if one.wrong else "right"
    times = [format_median_us(one.native), format_time_us(one.native["p99_us"]), format_median_us(one.own), format_time_us(one.own["p99_us"])]
    return (f"<tr><td>{format_size(one.bytes)}</td>" + "".join(f"<td>{value}</td>" for value in times)
            + f'<td>{one.speedup:.2f}×</td><td class="word">{escape(one.own["algorithm"])}</td><td class="word">{checked}</td></tr>')


def parts_table(measurement: Measurement) -> str:
    """Nonblocking and persistent calls: a row for every size and contender."""
    words = ("contender", "algorithm", "data")
    headings = part_headings(measurement)
    kinds = [' class="word"' if heading in words else "" for heading in headings]
    head = "".join(f"<th{kind}>{escape(heading)}</th>" for heading, kind in zip(headings, kinds))
    rows = "".join("<tr>" + "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in zip(cells, kinds)) + "</tr>" for cells in part_rows(measurement))
    return f'<div class="scroll"><table><tr>{head}</tr>{rows}</table></div><p class="faint">{escape(EXPLANATION)}</p>'


def overlap_chart(measurement: Measurement) -> Chart:
    """How much of a call hides behind work, a line for every contender; without lines for blocking calls."""
    chart = Chart("Part of the call that hides behind work (median)", "percent", " %", linear_to=100.0)
    others = 0
    for name in contenders(measurement):
        points = [(one["bytes"], one["overlap"]["p50_percent"]) for one in results_of(measurement, name) if "overlap" in one]
        chart.series.append(Series(SHOWN_NAMES.get(name, name), colour_of(name, others), points))
        others += name not in SHOWN_NAMES
    return chart


def table(measurement: Measurement, comparisons: List[Comparison]) -> str:
    """Sizes with medians and 99th percentiles."""
    checked = bool(measurement.get("checked"))
    rows = "".join(table_row(one) if checked else table_row(one).replace(">right<", ">not checked<") for one in comparisons)
    return (f'<div class="scroll"><table><tr><th>block</th><th>{escape(reference(measurement))} p50 µs</th><th>p99</th><th>crossrail p50 µs</th><th>p99</th>'
            '<th>faster</th><th class="word">algorithm</th><th class="word">data</th></tr>' + rows + "</table></div>")


def tiles(measurement: Measurement, comparisons: List[Comparison]) -> str:
    """The figures to remember, the worst among them."""
    small = small_speedup(comparisons)
    ordered = sorted(comparisons, key=lambda one: one.speedup)
    cells = [(f"{small.mean:.2f}×", f"faster, {small.sizes} (geometric mean)")] if small else []
    for one, words in ((ordered[-1], "at best"), (ordered[0], "at worst")) if ordered else ():
        cells.append((f"{one.speedup:.2f}×", f"{words}, {format_size(one.bytes)} blocks"))
    cells.append((str(wrong_blocks(measurement)) if measurement.get("checked") else "-", "wrong blocks"))
    return '<div class="tiles">' + "".join(f"<div><b>{escape(value)}</b>{escape(words)}</div>" for value, words in cells) + "</div>"


def machine_line(measurement: Measurement) -> str:
    """'name: processor, cores' from what the command line added to the measurement."""
    machine = measurement.get("machine", {})
    words = [machine.get("name") or machine.get("host", "unnamed machine"), machine.get("cpu", ""), f"{measurement.get('cores', '?')} cores"]
    return ", ".join(word for word in words if word)


def section(measurement: Measurement) -> str:
    """One measurement: heading, figures, charts, table."""
    comparisons = compare(measurement)
    kind = ' class="bad"' if wrong_blocks(measurement) else ""
    notes = "".join(f'<p class="faint">{escape(note)}</p>' for note in [*not_run_sentences(measurement), *caveats(measurement)])
    return (f"<h2>{escape(title(measurement))}</h2>"
            f'<p class="faint">{escape(machine_line(measurement))}; measured {escape(measurement.get("date", "on an unknown day"))}'
            f', crossrail {escape(measurement.get("commit", ""))}</p>'
            f"<p{kind}>{escape(verdict(measurement))}</p>{tiles(measurement, comparisons)}"
            f"{draw(latency_chart(measurement))}{draw(speedup_chart(measurement))}"
            f"{draw(overlap_chart(measurement))}"
            f"{parts_table(measurement) if has_parts(measurement) else table(measurement, comparisons)}{notes}")


def render_page(heading: str, introduction: str, measurements: List[Measurement]) -> str:
    """The whole page; `introduction` is HTML, everything else is escaped. The raw data are embedded as JSON."""
    raw: List[Dict[str, Any]] = measurements
    data = json.dumps(raw).replace("</", "<\\/")
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>{escape(heading)}</title><style>{STYLE}</style></head><body><h1>{escape(heading)}</h1>{introduction}"
            f"{''.join(section(one) for one in measurements)}"
            '<p class="faint">The contenders take turns in the same run. Each time is the '
            "longest over all ranks of one repetition; p50 is the median (in brackets, where it is known, its 95 % confidence interval within this run), p99 what one call in a hundred exceeds.</p>"
            f'<script type="application/json" id="measurements">{data}</script></body></html>\n')


def check_page(path: Optional[Path]) -> None:
    """Before anything is measured. Raises CliError where the folder of the file is missing."""
    if path and not path.absolute().parent.is_dir():
        raise CliError(f"There is no folder {path.absolute().parent} for {path.name}.")


def write_page(path: Path, page: str) -> None:
    """Writes a page. Raises CliError where that cannot be."""
    try:
        path.write_text(page)
    except OSError as error:
        raise CliError(f"{path} cannot be written: {error.strerror}.") from error
