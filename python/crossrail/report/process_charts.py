"""Measurements by the number of processes a GPU as charts: times, bandwidth, the gain over the fewest, beside what the paper says.

The paper: "Optimizing Allreduce Operations for Modern Heterogeneous Architectures with Multiple Processes per GPU" (arXiv 2508.13397), of
which only the speed-ups that its text states are quoted.
"""

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from crossrail.bench.measurements import Measurement, contenders, count_words, of_processes, reference, results_of
from crossrail.report.chart import Chart, Series
from crossrail.report.contender_tables import shown
from crossrail.report.device_tables import own_contender
from crossrail.report.measurement_charts import TIME_BANDS, spread
from crossrail.report.size_words import size_axis
from crossrail.sizes import format_size

LEAST_LONG = 64 << 10  # bytes; what is shorter has one process anyway
MOST_LINES = 6


@dataclass(frozen=True)
class Stated:
    """A speed-up over one process a GPU that the paper states, and with how many processes; None: that is not stated."""

    place: str
    words: str
    gain: float
    processes: Optional[int]


PAPER: Dict[str, Tuple[Stated, ...]] = {
    "pingpong": (Stated("Delta", "A100, host copies, the largest message", 3.49, 16),
                 Stated("Tuolumne", "MI300A, SPX mode, GPUDirect RDMA, at most", 1.89, 16)),
    "allreduce": (Stated("Delta", "A100, MPI_Allreduce, 32 nodes, more than", 1.7, 16),
                  Stated("Delta", "A100, multi-lane, 8 nodes of 4 GPUs, about", 1.39, None)),
}


def moved_by(measurement: Measurement) -> str:
    """The contender whose processes are counted: crossrail's own choice, else the first of its algorithms; the ping-pong has one."""
    return own_contender(measurement) or contenders(measurement)[0]


def rows_by_count(measurement: Measurement) -> Dict[int, List[Dict[str, Any]]]:
    """Its results by the number of processes, each by size; numbers without any are left out."""
    name = moved_by(measurement) if measurement["results"] else ""
    found = {count: [one for one in results_of(of_processes(measurement, count), name) if one["bytes"] > 0 and one["p50_us"] > 0]
             for count in measurement["process_counts"]}
    return {count: rows for count, rows in found.items() if rows}


def gains(measurement: Measurement) -> Dict[int, Dict[int, float]]:
    """By number of processes and size: the time with the fewest divided by that with so many."""
    rows = rows_by_count(measurement)
    fewest = {one["bytes"]: one["p50_us"] for one in rows[min(rows)]} if rows else {}
    return {count: {one["bytes"]: fewest[one["bytes"]] / one["p50_us"] for one in own if one["bytes"] in fewest} for count, own in rows.items()}


def compared(measurement: Measurement) -> List[Dict[str, Any]]:
    """What crossrail is compared with, in the job with the fewest processes; none where that was not measured."""
    counts = measurement["process_counts"]
    first = of_processes(measurement, counts[0]) if counts else measurement
    return results_of(first, reference(first)) if reference(first) != moved_by(measurement) else []


def axis_of(measurement: Measurement) -> str:
    """What sizes are."""
    return "bytes of a GPU's buffer" if measurement["collective"] == "pingpong" else size_axis(measurement["collective"])


def count_lines(measurement: Measurement, value: str) -> List[Series]:
    """A line for every number of processes, and one for what crossrail is compared with; `value`: p50_us or gb_s."""
    lines = []
    rival = compared(measurement)
    if rival:
        lines.append(Series(shown(reference(measurement)), 1, [(one["bytes"], one[value]) for one in rival if one.get(value, 0) > 0]))
    for at, (count, rows) in enumerate(rows_by_count(measurement).items()):
        band = [part for one in rows for part in spread(one)] if value == "p50_us" else []
        lines.append(Series(count_words(count), 2 + at, [(one["bytes"], one[value]) for one in rows if one.get(value, 0) > 0], band))
    return lines


def time_chart(measurement: Measurement) -> Chart:
    """Median time against size."""
    caption = "Time of a message (median), by processes a GPU" if measurement["collective"] == "pingpong" else "Time of a call (median), by processes a GPU"
    return Chart(caption, "time", " µs", count_lines(measurement, "p50_us"), bands=TIME_BANDS, size_label=axis_of(measurement))


def bandwidth_chart(measurement: Measurement) -> Chart:
    """Bytes of a GPU by the median time, against size."""
    return Chart("Bandwidth of a GPU, by processes a GPU", "bytes by time", " GB/s", count_lines(measurement, "gb_s"), size_label=axis_of(measurement))


def thinned(sizes: List[int]) -> List[int]:
    """At most MOST_LINES of the long ones, evenly apart, the largest among them."""
    long = [size for size in sizes if size >= LEAST_LONG] or sizes
    stride = -(-len(long) // MOST_LINES) or 1
    return long[::-1][::stride][::-1]


def gain_chart(measurement: Measurement) -> Chart:
    """The gain over the fewest processes against their number, a line for every size; the paper's as points. Without lines where one number was measured."""
    found = gains(measurement)
    fewest = min(found, default=1)
    chart = Chart(f"How many times faster than with {count_words(fewest)} a GPU", f"time with {count_words(fewest)} / with so many", "", reference=1.0,
                  size_label="processes a GPU", numbers=True)
    if len(found) < 2:
        return chart
    for at, size in enumerate(thinned(sorted({size for by_size in found.values() for size in by_size}))):
        chart.series.append(Series(format_size(size), 2 + at, [(count, by_size[size]) for count, by_size in found.items() if size in by_size]))
    for one in PAPER.get(measurement["collective"], ()) if fewest == 1 else ():
        if one.processes:
            chart.series.append(Series(f"the paper, {one.place}", 2 + len(chart.series), [(one.processes, one.gain)]))
    return chart
