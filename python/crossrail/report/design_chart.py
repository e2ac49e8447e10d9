"""The designs of an alltoall on device memory against each other: figure 4 of the paper on IPC-based alltoalls (IPDPS workshops 2022)."""

from typing import Any, Dict, List, Tuple

from crossrail.bench.measurements import BEST_NCCL, Measurement, best_of, results_of
from crossrail.report.chart import Chart, Series


def designs(measurement: Measurement) -> List[Tuple[str, List[Dict[str, Any]]]]:
    """A name and results by size for every design; those that were not measured have none."""
    return [("hybrid", results_of(measurement, "hybrid") or results_of(measurement, "auto")),
            ("kernels", best_of(measurement, "ipc_kernel")),
            ("memcpy", best_of(measurement, "ipc_copy")),
            ("best of NCCL", results_of(measurement, BEST_NCCL)),
            ("copies alone", results_of(measurement, "copy_engine_limit"))]


def design_chart(measurement: Measurement) -> Chart:
    """Median time against block size, a line for every design."""
    chart = Chart("Time of a call (median): kernels, copy engines, both, and NCCL", "time of a call", " µs")
    styles = (0, 2, 3, 1, 4)  # NCCL stands where native MPI stands on other pages
    for style, (name, results) in zip(styles, designs(measurement)):
        chart.series.append(Series(name, style, [(one["bytes"], one["p50_us"]) for one in results if one["p50_us"] > 0]))
    return chart
