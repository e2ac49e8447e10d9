"""One self-contained HTML page for measurements: charts, tables, machine; follows the reader's light or dark mode."""

import json
from html import escape
from typing import List

from crossrail.bench.measurements import (Comparison, Measurement, caveats, compare, not_run_sentences, rivals, small_speedup, title, verdict,
                                          wrong_blocks)
from crossrail.report.chart_drawing import draw
from crossrail.report.contender_tables import comparison_table, medians_table, parts_table
from crossrail.report.document import document
from crossrail.report.measurement_charts import latency_chart, overlap_chart, speedup_chart
from crossrail.report.parts_table import has_parts
from crossrail.report.process_tables import process_section
from crossrail.sizes import format_size


def ratio_tile(speedup: float, words: str) -> tuple:
    """('1.40×', 'faster …') or ('4.80×', 'slower …')."""
    return (f"{speedup:.2f}×", f"faster, {words}") if speedup >= 0.995 else (f"{1 / speedup:.2f}×", f"slower, {words}")


def tiles(measurement: Measurement, comparisons: List[Comparison]) -> str:
    """The figures to remember, the worst among them."""
    small = small_speedup(comparisons)
    ordered = sorted((one for one in comparisons if one.speedup > 0), key=lambda one: one.speedup)
    cells = [ratio_tile(small.mean, f"{small.sizes}{small.sort_of_mean}")] if small else []
    for one, words in ((ordered[-1], "at best"), (ordered[0], "at worst")) if len(ordered) > 1 else ():
        cells.append(ratio_tile(one.speedup, f"{words}: {format_size(one.bytes)}"))
    if measurement["results"]:
        cells.append((str(wrong_blocks(measurement)) if measurement.get("checked") else "-", "wrong blocks" if measurement.get("checked") else "data not checked"))
    return '<div class="tiles">' + "".join(f"<div><b>{escape(value)}</b>{escape(words)}</div>" for value, words in cells) + "</div>"


def machine_line(measurement: Measurement) -> str:
    """'name: processor, cores' from what the command line added to the measurement."""
    machine = measurement.get("machine", {})
    words = [machine.get("name") or machine.get("host", "unnamed machine"), machine.get("cpu", "").strip(" ,"), f"{measurement.get('cores', '?')} cores"]
    return ", ".join(word for word in words if word)


def origin_line(measurement: Measurement) -> str:
    """Where, when and with which commit it was measured."""
    commit = measurement.get("commit")
    return f"{machine_line(measurement)}; measured {measurement.get('date', 'on an unknown day')}" + (f", crossrail {commit}" if commit else "")


def section(measurement: Measurement) -> str:
    """One measurement: heading, figures, charts, tables."""
    comparisons = compare(measurement) if "auto" in rivals(measurement) else []
    kind = ' class="bad"' if wrong_blocks(measurement) else ""
    notes = "".join(f'<p class="faint">{escape(note)}</p>' for note in [*not_run_sentences(measurement), *caveats(measurement)])
    head = (f'<h2>{escape(title(measurement))}</h2><p class="faint">{escape(origin_line(measurement))}</p>'
            f"<p{kind}>{escape(verdict(measurement))}</p>")
    if measurement.get("process_counts"):
        return f"{head}{process_section(measurement)}{notes}"
    tables = parts_table(measurement) if has_parts(measurement) else comparison_table(measurement, comparisons) + medians_table(measurement)
    return (f"{head}{tiles(measurement, comparisons)}"
            f"{draw(latency_chart(measurement))}{draw(speedup_chart(measurement))}{draw(overlap_chart(measurement))}{tables}{notes}")


def render_page(heading: str, introduction: str, measurements: List[Measurement], machine_picture: str = "") -> str:
    """The whole page; `introduction` and `machine_picture` are HTML, everything else is escaped. The raw data are embedded as JSON."""
    data = json.dumps(measurements).replace("</", "<\\/")
    body = [introduction, *map(section, measurements)]
    if machine_picture:
        body.append(f'<figure><figcaption>The machine on which the bench was started</figcaption><div class="scroll" role="region" tabindex="0" '
                    f'aria-label="Picture of the machine">{machine_picture}</div></figure>')
    if measurements:
        body.append('<p class="faint">The contenders take turns in the same run. Each time is the longest over all ranks of one repetition; p50 is the median '
                    "(in brackets, where it is known, its 95 % confidence interval within this run), p99 what one call in a hundred exceeds.</p>")
    return document(heading, [*body, f'<script type="application/json" id="measurements">{data}</script>'])
