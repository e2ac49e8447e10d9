"""Measurements on device memory as tables: crossrail against the best of NCCL and the copy engines' limit."""

from typing import Any, Dict, List, Optional

from rich.table import Table
from rich.text import Text

from crossrail.bench.device import COPY_ENGINES
from crossrail.bench.measurements import NCCL, Measurement, contenders, reference, results_of, rivals
from crossrail.console import out
from crossrail.report.contender_tables import repetitions_of
from crossrail.sizes import format_size, format_time_us, three_digits

HEADINGS = ("block", "crossrail p50 µs", "p99", "GB/s", "algorithm", "reference p50 µs", "which", "times faster", "copies alone", "data")


def own_contender(measurement: Measurement) -> Optional[str]:
    """crossrail's own choice, else the first of its contenders; None where there is none."""
    names = rivals(measurement)
    return "auto" if "auto" in names else next(iter(names), None)


def device_rows(measurement: Measurement, contender: str) -> List[List[str]]:
    """The cells of HEADINGS, a row for every size; '-' where something was not measured."""
    compared = {one["bytes"]: one for one in results_of(measurement, reference(measurement))}
    limits = {one["bytes"]: one for one in results_of(measurement, COPY_ENGINES)}
    return [device_row(own, compared.get(own["bytes"]), limits.get(own["bytes"])) for own in results_of(measurement, contender)]


def device_row(own: Dict[str, Any], other: Optional[Dict[str, Any]], limit: Optional[Dict[str, Any]]) -> List[str]:
    """One size: crossrail's result, the reference's and the copy engines'."""
    wrong = own.get("wrong", 0) + (other or {}).get("wrong", 0)
    return [format_size(own["bytes"]), format_time_us(own["p50_us"]), format_time_us(own["p99_us"]), three_digits(own.get("gb_s", 0)), own["algorithm"],
            format_time_us(other["p50_us"]) if other else "-", other["contender"].removeprefix(f"{NCCL}_") if other else "-",
            f"{other['p50_us'] / own['p50_us']:.2f}" if other and own["p50_us"] > 0 else "-",
            format_time_us(limit["p50_us"]) if limit else "-", f"{wrong} wrong" if wrong else "right"]


def device_table(measurement: Measurement, contender: str) -> Table:
    """A contender of crossrail's by size, beside what it is compared with."""
    table = Table(title=f"{'crossrail' if contender == 'auto' else contender} against {reference(measurement)}")
    for heading in (*HEADINGS[:-1], "reps", HEADINGS[-1]):
        table.add_column(heading.replace("reference", reference(measurement)), justify="left" if heading in ("algorithm", "which", "data") else "right")
    compared = results_of(measurement, reference(measurement))
    had = {format_size(own["bytes"]): repetitions_of([*(one for one in compared if one["bytes"] == own["bytes"]), own])
           for own in results_of(measurement, contender)}
    for row in device_rows(measurement, contender):
        ratio = Text(row[7], "green" if row[7] != "-" and float(row[7]) >= 1 else "yellow")
        table.add_row(*row[:7], ratio, row[8], had[row[0]], Text(row[9], "bold red" if row[9] != "right" else ""))
    return table


def medians_table(measurement: Measurement) -> Table:
    """All contenders' medians, a column for each."""
    names = contenders(measurement)
    table = Table(title="p50 µs of all contenders")
    for name in ("block", *names, "reps"):
        table.add_column(name, justify="right")
    medians = {name: {one["bytes"]: one["p50_us"] for one in results_of(measurement, name)} for name in names}
    for size in sorted({one["bytes"] for one in measurement["results"]}):
        table.add_row(format_size(size), *(format_time_us(medians[name][size]) if size in medians[name] else "-" for name in names),
                      repetitions_of([one for one in measurement["results"] if one["bytes"] == size]))
    return table


def show_device_measurement(measurement: Measurement) -> None:
    """Prints both tables."""
    contender = own_contender(measurement)
    if contender:
        out.print(device_table(measurement, contender))
    if len(contenders(measurement)) > 1:
        out.print(medians_table(measurement))
