"""A measurement for other programs: CSV, and columns as the OSU micro-benchmarks print them."""

import csv
import io
from typing import Any, Dict, List

from crossrail.bench.measurements import Measurement, contenders, count_words, of_processes, results_of, title
from crossrail.report.parts_table import has_parts

SETTING = ("collective", "mpi", "ranks", "nodes", "memory", "datatype", "empty_percent", "counts", "in_place", "off_cache", "fresh", "slices", "beside")
RESULT = ("bytes", "contender", "algorithm", "repetitions", "min_us", "mean_us", "p50_us", "p50_low_us", "p50_high_us", "p99_us", "max_us", "gb_s", "wrong",
          "not_run", "helpers", "processes")
PARTS = ("pure_us", "start_us", "wait_us", "compute_us", "total_us", "overlap_percent", "blocking_us", "init_us")  # of nonblocking and persistent calls: medians
USUAL = {"memory": "host", "datatype": "contiguous", "empty_percent": 0, "counts": "equal"}


def cell(values: Dict[str, Any], name: str) -> Any:
    """A value; flags are 0 or 1, what was not measured is empty."""
    flag = name in ("in_place", "off_cache", "fresh", "slices", "beside", "not_run")
    value = values.get(name, USUAL.get(name, 0 if flag else ""))
    return int(value) if flag else value


def median_of(result: Dict[str, Any], name: str) -> Any:
    """The median of a part of a call, 'wait_us' or 'overlap_percent'; empty where that was not measured."""
    what, _, unit = name.partition("_")
    measured = result.get(what)
    return measured.get(f"p50_{unit}", "") if isinstance(measured, dict) else result.get(name, "")


def measurement_csv(measurement: Measurement) -> str:
    """A line for every size and contender, what did not run at the end (not_run is 1: another algorithm's times). The parts of calls that have none
    are empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*SETTING, *RESULT, *PARTS])
    setting = [cell(measurement, name) for name in SETTING]
    for one in [*measurement["results"], *measurement.get("not_run", [])]:
        writer.writerow([*setting, *(cell(one, name) for name in RESULT), *(median_of(one, name) for name in PARTS)])
    return text.getvalue()


def latency_lines(results: List[Dict[str, Any]]) -> List[str]:
    """Size, Avg, Min, Max (microseconds, over repetitions), Iterations.

    A result without a mean (of older benches) has its median in that place, and the head says so.
    """
    middle = "Avg" if all("mean_us" in one for one in results) else "Median"
    lines = [f"{'# Size':<14}{middle + ' Latency(us)':>20}{'Min Latency(us)':>20}{'Max Latency(us)':>20}{'Iterations':>14}"]
    for one in results:
        average = one["mean_us"] if middle == "Avg" else one["p50_us"]
        lines.append(f"{one['bytes']:<14}{average:>20.2f}{one['min_us']:>20.2f}{one['max_us']:>20.2f}{one['repetitions']:>14}")
    return lines


def overlap_lines(results: List[Dict[str, Any]]) -> List[str]:
    """As osu_ialltoall prints them: Size, Overall, Compute, Pure Comm. (microseconds), Overlap (percent); behind them Iterations."""
    lines = [f"{'# Size':<14}{'Overall(us)':>20}{'Compute(us)':>20}{'Pure Comm.(us)':>20}{'Overlap(%)':>14}{'Iterations':>14}"]
    for one in results:
        total, compute, pure, overlap = (median_of(one, name) for name in ("total_us", "compute_us", "pure_us", "overlap_percent"))
        lines.append(f"{one['bytes']:<14}{total:>20.2f}{compute:>20.2f}{pure:>20.2f}{overlap:>14.2f}{one['repetitions']:>14}")
    return lines


def osu_lines(measurement: Measurement) -> List[str]:
    """A block of lines for every contender."""
    in_parts = has_parts(measurement)
    times = "medians over the rounds" if in_parts else "average, least and most over the repetitions"
    lines = [f"# crossrail bench: {title(measurement)}", f"# Times are those of the slowest rank: {times}."]
    parts = [(f", {count_words(count)} a GPU", of_processes(measurement, count)) for count in measurement.get("process_counts", [])] or [("", measurement)]
    for name, words, results in [(name, words, results_of(part, name)) for words, part in parts for name in contenders(part)]:
        lines += [f"# Contender: {name}{words}", *(overlap_lines(results) if in_parts else latency_lines(results))]
    return lines
