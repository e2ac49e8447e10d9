"""The tables of a measurement on its page: crossrail against the reference, and the medians of all contenders."""

from html import escape
from typing import Any, Dict, List, Tuple

from crossrail.bench.measurements import NCCL, Comparison, Measurement, contenders, reference, results_of, size_range
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
    """A size as cells: both contenders' least, median and 99th percentile, the ratio, crossrail's bandwidth, the repetitions, crossrail's algorithm."""
    cells = [format_size(one.bytes)]
    for result in (one.native, one.own):
        cells += [format_time_us(result["min_us"]) if "min_us" in result else "-", format_median_us(result), format_time_us(result["p99_us"])]
    return [*cells, f"{one.speedup:.2f}×", three_digits(one.own["gb_s"]) if one.own.get("gb_s") else "-", repetitions_of([one.native, one.own]), one.own["algorithm"],
            f"{one.wrong} wrong" if one.wrong else "right"]


def repetitions_of(results: List[Dict[str, Any]]) -> str:
    """'1 000' where contenders had as many; where they had not, '3 / 1 000' of two in their order, '3 to 1 000' of several."""
    counts = [one["repetitions"] for one in results if "repetitions" in one]
    if not counts:
        return "-"
    if min(counts) == max(counts):
        return format_count(counts[0])
    return " / ".join(map(format_count, counts)) if len(counts) == 2 else f"{format_count(min(counts))} to {format_count(max(counts))}"


def where_few(few: Tuple[Tuple[int, int], ...], sizes: List[int]) -> str:
    """'30 to 60 repetitions at 2 sizes from 8 B to 1 MiB', of pairs of a size and its few repetitions; `sizes`: all that were measured."""
    found, counts = sorted({size for size, _ in few}), [count for _, count in few]
    range_of = format_count(min(counts)) + (f" to {format_count(max(counts))}" if max(counts) > min(counts) else "")
    between = [size for size in sizes if found[0] <= size <= found[-1]]
    where = "every size" if found == sizes else size_range(found) if found == between else f"{len(found)} sizes from {size_range(found)}"
    return f"{range_of} repetition{'s' if max(counts) > 1 else ''} at {where}"


def few_repetitions(measurement: Measurement) -> List[str]:
    """Sentences on which contenders had few repetitions, and what their 99th percentile is; none where all had a hundred at least."""
    having: Dict[Tuple[Tuple[int, int], ...], List[str]] = {}
    names = contenders(measurement)
    for name in names:
        counts = [(one["bytes"], one.get("repetitions", MANY_REPETITIONS)) for one in results_of(measurement, name)]
        having.setdefault(tuple(pair for pair in counts if pair[1] < MANY_REPETITIONS), []).append(shown(name))
    sizes = sorted({one["bytes"] for one in measurement["results"]})
    parts = [f"{'all contenders' if len(those) == len(names) > 1 else ' and '.join(filter(None, [', '.join(those[:-1]), those[-1]]))} had {where_few(few, sizes)}"
             for few, those in having.items() if few]
    if not parts:
        return []
    said = "; ".join(parts)
    return [f"{said[0].upper()}{said[1:]}. Of fewer than {MANY_REPETITIONS} the p99 is the slowest one, or close to it."]


def comparison_table(measurement: Measurement, comparisons: List[Comparison]) -> str:
    """Crossrail against the reference by size. The column on the data is there where something was wrong: else the verdict says it for all."""
    if not comparisons:
        return ""
    headings = ["block", *("min", "p50", "p99") * 2, "times faster", "GB/s", "repetitions", "algorithm", "data"]
    wrong = any(one.wrong for one in comparisons)
    last = None if wrong else -1
    groups = (f'<tr class="groups"><td></td><th scope="colgroup" colspan="3">{escape(shown(reference(measurement)))}, µs</th>'
              f'<th scope="colgroup" colspan="3">crossrail, µs</th><td colspan="{len(headings[7:last])}"></td></tr>')
    note = " ".join(["min, p50, p99: the fastest call, the median, what one call in a hundred exceeds; GB/s: what a rank sends in a median call of crossrail.",
                     *few_repetitions(measurement)])
    return ("<h3>crossrail by size</h3>" + html_table(headings[:last], [comparison_cells(one)[:last] for one in comparisons], (10, 11), "crossrail by size", groups)
            + f'<p class="faint note">{note}</p>')


def named(name: str, style: int) -> str:
    """A contender as the heading of a column, which may break between words; its mark stays with the first."""
    first, *others = escape(name).split(" ")
    return " ".join([f'<span class="whole">{key(style)}{first}</span>', *others])


def medians_table(measurement: Measurement) -> str:
    """The medians of all contenders, a column for each, the least of every size in bold, and their repetitions; nothing where there are two."""
    names, style = contenders(measurement), styles(measurement)
    if len(names) < 3:
        return ""
    medians = {name: {one["bytes"]: one["p50_us"] for one in results_of(measurement, name)} for name in names}
    head = "".join(f'<th scope="col" class="text">{named(shown(name), style[name])}</th>' for name in names)
    body = ""
    for size in sorted({one["bytes"] for one in measurement["results"]}):
        least = min(times[size] for times in medians.values() if size in times)
        cells = [(format_time_us(medians[name][size]), medians[name][size] == least) if size in medians[name] else ("-", False) for name in names]
        cells.append((repetitions_of([one for one in measurement["results"] if one["bytes"] == size]), False))
        body += f'<tr><th scope="row">{format_size(size)}</th>' + "".join(f'<td{" class=best" if best else ""}>{text}</td>' for text, best in cells) + "</tr>"
    return ("<h3>All contenders: median, µs</h3>" + scrolling(f'<table><thead><tr><th scope="col">block</th>{head}<th scope="col">repetitions</th></tr></thead><tbody>{body}</tbody></table>',
                                                              "Medians of all contenders"))


def parts_table(measurement: Measurement) -> str:
    """Nonblocking and persistent calls: a row for every size and contender."""
    headings = part_headings(measurement)
    words = [number for number, heading in enumerate(headings) if heading in ("contender", "algorithm", "data")]
    return html_table(headings, part_rows(measurement), words, "Calls in parts") + f'<p class="faint">{escape(EXPLANATION)}</p>'
