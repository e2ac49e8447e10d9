"""The charts of a measurement: times, ratios, overlap; a line for every contender."""

from typing import Any, Dict, List, Tuple

from crossrail.bench.measurements import Comparison, Measurement, compare, contenders, interval, reference, results_of, rivals
from crossrail.report.chart import Chart, Series
from crossrail.report.contender_tables import shown, styles
from crossrail.report.size_words import size_axis

TIME_BANDS = "Bands: from the fastest call to the 99th percentile."
RATIO_BANDS = "Bands: what the 95 % confidence intervals of both medians, within this run, allow."
OVERLAP_BANDS = "Bands: the quartiles of the rounds."


def spread(one: Dict[str, Any]) -> List[Tuple[float, float, float]]:
    """From the fastest call to the 99th percentile, where both are known."""
    return [(one["bytes"], one["min_us"], one["p99_us"])] if "min_us" in one and "p99_us" in one else []


def latency_chart(measurement: Measurement) -> Chart:
    """Median time against block size, a line for every contender."""
    chart = Chart("Time of a call (median)", "time of a call", " µs", bands=TIME_BANDS, size_label=size_axis(measurement["collective"]))
    style = styles(measurement)
    for name in contenders(measurement):
        results = [one for one in results_of(measurement, name) if one["bytes"] > 0 and one["p50_us"] > 0]
        chart.series.append(Series(shown(name), style[name], [(one["bytes"], one["p50_us"]) for one in results], [part for one in results for part in spread(one)]))
    return chart


def ratio_spread(one: Comparison) -> List[Tuple[float, float, float]]:
    """The least and the greatest ratio of medians within their confidence intervals."""
    native, own = interval(one.native), interval(one.own)
    return [(one.bytes, native[0] / own[1], native[1] / own[0])] if native and own and own[0] > 0 else []


def speedup_chart(measurement: Measurement) -> Chart:
    """How many times faster than the reference, for crossrail and every other contender."""
    compared = shown(reference(measurement))
    chart = Chart(f"How many times faster than {compared}", f"time of {compared} / of contender", "", reference=1.0,
                  bands=RATIO_BANDS, size_label=size_axis(measurement["collective"]))
    style = styles(measurement)
    for name in rivals(measurement):
        known = [one for one in compare(measurement, name) if one.bytes > 0 and one.speedup > 0]
        chart.series.append(Series(shown(name), style[name], [(one.bytes, one.speedup) for one in known], [part for one in known for part in ratio_spread(one)]))
    return chart


def overlap_chart(measurement: Measurement) -> Chart:
    """How much of a call hides behind work, a line for every contender; without lines for blocking calls."""
    chart = Chart("Part of the call that hides behind work (median)", "part hidden", " %", linear_to=100.0, bands=OVERLAP_BANDS,
                  size_label=size_axis(measurement["collective"]))
    style = styles(measurement)
    for name in contenders(measurement):
        parts = [(one["bytes"], one["overlap"]) for one in results_of(measurement, name) if "overlap" in one and one["bytes"] > 0]
        chart.series.append(Series(shown(name), style[name], [(size, part["p50_percent"]) for size, part in parts],
                                   [(size, part["p25_percent"], part["p75_percent"]) for size, part in parts]))
    return chart
