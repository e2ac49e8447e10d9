"""The tables of a measurement on its page: crossrail against the reference, and the medians of all contenders."""

from html import escape
from typing import List

from crossrail.bench.measurements import NCCL, Comparison, Measurement, contenders, reference, results_of
from crossrail.report.chart_style import colour_of, key
from crossrail.report.document import html_table, scrolling
from crossrail.report.parts_table import EXPLANATION, part_headings, part_rows
from crossrail.sizes import format_count, format_median_us, format_size, format_time_us, three_digits

MANY_REPETITIONS = 100  # from where the 99th percentile is not the slowest call
SHOWN_NAMES = {"native": "native MPI", "auto": "crossrail"}


def shown(name: str) -> str:
    """A contender as the page calls it."""
    return SHOWN_NAMES.get(name, name)


def styles(measurement: Measurement) -> dict:
    """The number of the style of every contender: the same in all charts and tables of the measurement. Without native MPI the first of NCCL's has its style."""
    names = contenders(measurement)
    compared = "native" if "native" in names else next((name for name in names if name.startswith(NCCL)), "")
    others = [name for name in names if name not in (compared, "auto")]
    return {name: colour_of("native" if name == compared else name, others.index(name) if name in others else 0) for name in names}


def comparison_cells(one: Comparison) -> List[str]:
    """A size as cells: both contenders' least, median and 99th percentile, the ratio, crossrail's bandwidth and algorithm."""
    cells = [format_size(one.bytes)]
    for result in (one.native, one.own):
        cells += [format_time_us(result["min_us"]) if "min_us" in result else "-", format_median_us(result), format_time_us(result["p99_us"])]
    return [*cells, f"{one.speedup:.2f}×", three_digits(one.own["gb_s"]) if one.own.get("gb_s") else "-", one.own["algorithm"],
            f"{one.wrong} wrong" if one.wrong else "right"]


def few_repetitions(measurement: Measurement) -> List[str]:
    """A sentence on what the 99th percentile of few repetitions is; none where all contenders had a hundred at least."""
    counts = [one["repetitions"] for one in measurement["results"] if one.get("repetitions", MANY_REPETITIONS) < MANY_REPETITIONS]
    if not counts:
        return []
    range_of = format_count(min(counts)) + (f" to {format_count(max(counts))}" if max(counts) > min(counts) else "")
    where = "" if len(counts) == len(measurement["results"]) else " at some sizes"
    return [f"There were {range_of} repetitions{where}: of fewer than {MANY_REPETITIONS} the p99 is the slowest call, or close to it."]


def comparison_table(measurement: Measurement, comparisons: List[Comparison]) -> str:
    """Crossrail against the reference by size. The column on the data is there where something was wrong: else the verdict says it for all."""
    if not comparisons:
        return ""
    headings = ["block", *("min", "p50", "p99") * 2, "times faster", "GB/s", "algorithm", "data"]
    wrong = any(one.wrong for one in comparisons)
    last = None if wrong else -1
    groups = (f'<tr class="groups"><td></td><th scope="colgroup" colspan="3">{escape(shown(reference(measurement)))}, µs</th>'
              f'<th scope="colgroup" colspan="3">crossrail, µs</th><td colspan="{len(headings[7:last])}"></td></tr>')
    note = " ".join(["min, p50, p99: the fastest call, the median, what one call in a hundred exceeds; GB/s: what a rank sends in a median call of crossrail.",
                     *few_repetitions(measurement)])
    return ("<h3>crossrail by size</h3>" + html_table(headings[:last], [comparison_cells(one)[:last] for one in comparisons], (9, 10), "crossrail by size", groups)
            + f'<p class="faint note">{note}</p>')


def named(name: str, style: int) -> str:
    """A contender as the heading of a column, which may break between words; its mark stays with the first."""
    first, *others = escape(name).split(" ")
    return " ".join([f'<span class="whole">{key(style)}{first}</span>', *others])


def medians_table(measurement: Measurement) -> str:
    """The medians of all contenders, a column for each, the least of every size in bold; nothing where there are two."""
    names, style = contenders(measurement), styles(measurement)
    if len(names) < 3:
        return ""
    medians = {name: {one["bytes"]: one["p50_us"] for one in results_of(measurement, name)} for name in names}
    head = "".join(f'<th scope="col" class="text">{named(shown(name), style[name])}</th>' for name in names)
    body = ""
    for size in sorted({one["bytes"] for one in measurement["results"]}):
        least = min(times[size] for times in medians.values() if size in times)
        cells = [(format_time_us(medians[name][size]), medians[name][size] == least) if size in medians[name] else ("-", False) for name in names]
        body += f'<tr><th scope="row">{format_size(size)}</th>' + "".join(f'<td{" class=best" if best else ""}>{text}</td>' for text, best in cells) + "</tr>"
    return ("<h3>All contenders: median, µs</h3>" + scrolling(f'<table><thead><tr><th scope="col">block</th>{head}</tr></thead><tbody>{body}</tbody></table>',
                                                              "Medians of all contenders"))


def parts_table(measurement: Measurement) -> str:
    """Nonblocking and persistent calls: a row for every size and contender."""
    headings = part_headings(measurement)
    words = [number for number, heading in enumerate(headings) if heading in ("contender", "algorithm", "data")]
    return html_table(headings, part_rows(measurement), words, "Calls in parts") + f'<p class="faint">{escape(EXPLANATION)}</p>'
