"""Nonblocking and persistent calls in parts: a row for every size and contender."""

from typing import Any, Dict, List

from crossrail.bench.measurements import Measurement, contenders, results_of
from crossrail.sizes import format_count, format_size, format_time_us

TIMES = ("pure", "start", "wait", "compute", "total")
EXPLANATION = ("reps: repetitions. Medians ± half the interquartile range over them, in µs, the longest over all ranks. pure: start and wait at once; start and wait: these "
               "by themselves; compute: work put between them, of about the time of pure; total: start, work, wait; overlap: the part of the call that hides "
               "behind the work, 100 × (1 − (total − compute) / pure) %; blocking: the blocking call of the same contender.")


def has_parts(measurement: Measurement) -> bool:
    """Whether its calls were nonblocking or persistent."""
    return any("overlap" in one for one in measurement["results"])


def spread(values: Dict[str, float], unit: str = "us") -> str:
    """'1.89 ±6%' of {p25_us, p50_us, p75_us}."""
    middle = values[f"p50_{unit}"]
    half = (values[f"p75_{unit}"] - values[f"p25_{unit}"]) / 2
    return f"{format_time_us(middle)} ±{100 * half / middle:.0f}%" if middle > 0 else format_time_us(middle)


def percent(values: Dict[str, float]) -> str:
    """'35 ±4' of {p25_percent, p50_percent, p75_percent}."""
    return f"{values['p50_percent']:.0f} ±{(values['p75_percent'] - values['p25_percent']) / 2:.0f}"


def part_headings(measurement: Measurement) -> List[str]:
    """The names of the columns."""
    made = ["init"] if any("init_us" in one for one in measurement["results"]) else []
    return ["block", "contender", "algorithm", "reps", *made, *TIMES, "overlap %", "blocking", "faster", "data"]


def part_cells(measurement: Measurement, one: Dict[str, Any], native: Dict[str, Any]) -> List[str]:
    """The cells of one result; `native`: that of the native MPI at this size, {} where it was not measured."""
    made = [format_time_us(one["init_us"])] if "init_us" in one else []
    faster = f"{native['p50_us'] / one['p50_us']:.2f}" if native and one["p50_us"] > 0 and one is not native else "-"
    data = f"{one['wrong']} wrong" if one.get("wrong") else "right" if measurement.get("checked") else "not checked"
    return [format_size(one["bytes"]), "crossrail" if one["contender"] == "auto" else one["contender"], one["algorithm"],
            format_count(one["repetitions"]) if "repetitions" in one else "-", *made,
            *(spread(one[name]) for name in TIMES), percent(one["overlap"]), format_time_us(one["blocking"]["p50_us"]), faster, data]


def part_rows(measurement: Measurement) -> List[List[str]]:
    """By size, the contenders in their order."""
    native = {one["bytes"]: one for one in results_of(measurement, "native")}
    order = contenders(measurement)
    results = sorted(measurement["results"], key=lambda one: (one["bytes"], order.index(one["contender"])))
    return [part_cells(measurement, one, native.get(one["bytes"], {})) for one in results]
