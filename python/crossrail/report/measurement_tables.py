"""What a bench measured, on the terminal."""

from rich import box
from rich.table import Table
from rich.text import Text

from crossrail.bench.measurements import (Measurement, caveats, compare, count_words, interval, is_clear, lag_behind_alltoall, not_run_sentences, of_processes,
                                          on_device, rivals, small_speedup, times_faster, title, verdict, wrong_blocks)
from crossrail.console import out
from crossrail.report.contender_tables import few_repetitions, repetitions_of
from crossrail.report.device_tables import show_device_measurement
from crossrail.report.parts_table import EXPLANATION, has_parts, part_headings, part_rows
from crossrail.report.process_tables import show_by_processes
from crossrail.sizes import format_median_us, format_size, format_time_us

WORDS = ("block", "contender", "algorithm", "data")  # columns aligned to the left


def comparison_table(measurement: Measurement, contender: str) -> Table:
    """Medians by size, native against `contender`."""
    name = "crossrail" if contender == "auto" else contender
    table = Table()
    for heading in ("block", "native p50 µs", f"{name} p50 µs", "native p99", f"{name} p99", "times faster", "reps"):
        table.add_column(heading, justify="right", no_wrap=heading.endswith("p50 µs"))
    table.add_column("algorithm", overflow="fold")
    table.add_column("data")
    for one in compare(measurement, contender):
        checked = "right" if measurement.get("checked") else "not checked"
        table.add_row(format_size(one.bytes), format_median_us(one.native), format_median_us(one.own),
                      format_time_us(one.native["p99_us"]), format_time_us(one.own["p99_us"]),
                      Text(f"{one.speedup:.2f}", "green" if one.speedup >= 1 else "yellow"), repetitions_of([one.native, one.own]), one.own["algorithm"],
                      Text(f"{one.wrong} wrong", "bold red") if one.wrong else checked)
    return table


def parts_table(measurement: Measurement) -> Table:
    """Nonblocking and persistent calls: a row for every size and contender, a line between sizes."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    rows = part_rows(measurement)
    all_right = all(cells[-1] == "right" for cells in rows)  # the verdict says so: no column for it
    for heading in part_headings(measurement)[:-1 if all_right else None]:
        table.add_column(heading, justify="left" if heading in WORDS else "right", overflow="fold")
    before = None
    for cells in rows:
        if before not in (None, cells[0]):
            table.add_section()
        block = "" if cells[0] == before else cells[0]
        data = [] if all_right else [Text(cells[-1], "bold red" if cells[-1].endswith("wrong") else "")]
        faster = Text(cells[-2], "" if cells[-2] == "-" else "green" if float(cells[-2]) >= 1 else "yellow")
        table.add_row(block, *cells[1:-2], faster, *data)
        before = cells[0]
    return table


def show_parts(measurement: Measurement) -> None:
    """Prints the table of calls in parts and what its columns are, and the mean of the small sizes."""
    out.print(parts_table(measurement))
    out.print(Text(EXPLANATION, "dim"))
    for name in rivals(measurement):
        show_small(measurement, name)


def show_small(measurement: Measurement, name: str) -> None:
    """Prints how a contender compares at the small sizes."""
    small = small_speedup(compare(measurement, name))
    if small:
        shown = "crossrail" if name == "auto" else name
        out.print(Text(f"{shown}, {small.sizes}: {times_faster(small.mean)} than native{small.sort_of_mean}.", "bold"))


def show_unclear(measurement: Measurement, name: str) -> None:
    """Prints what the brackets are, and at which sizes they overlap."""
    known = [one for one in compare(measurement, name) if interval(one.native) and interval(one.own)]
    if known:
        unclear = [format_size(one.bytes) for one in known if not is_clear(one)]
        apart = f" They overlap at {', '.join(unclear)}: no difference beyond the noise there." if unclear else ""
        out.print(Text(f"In brackets: 95 % confidence interval of the median, within this run.{apart}", "dim"))


def native_table(measurement: Measurement) -> Table:
    """Medians by size of the native MPI, where nothing is compared with it."""
    table = Table()
    for heading in ("block", "native p50 µs", "native p99", "reps", "data"):
        table.add_column(heading, justify="left" if heading in WORDS[1:] else "right")
    for one in measurement["results"]:
        checked = "right" if measurement.get("checked") else "not checked"
        table.add_row(format_size(one["bytes"]), format_median_us(one), format_time_us(one["p99_us"]), repetitions_of([one]),
                      Text(f"{one['wrong']} wrong", "bold red") if one["wrong"] else checked)
    return table


def show_host_measurement(measurement: Measurement) -> None:
    """Prints a table for every contender, and the mean of the small sizes."""
    if not rivals(measurement):
        out.print(native_table(measurement))
    for name in rivals(measurement):
        out.print(comparison_table(measurement, name))
        show_unclear(measurement, name)
        show_small(measurement, name)


def show_tables(measurement: Measurement) -> None:
    """Prints the tables; those of a measurement by the number of processes with each of them, and beside each other."""
    show = show_parts if has_parts(measurement) else show_device_measurement if on_device(measurement) else show_host_measurement
    if not measurement.get("process_counts"):
        return show(measurement)
    for count in measurement["process_counts"] if measurement["collective"] != "pingpong" else ():
        out.print(Text(f"With {count_words(count)} a GPU", "bold"))
        show(of_processes(measurement, count))
    return show_by_processes(measurement)


def show_measurement(measurement: Measurement) -> None:
    """Prints the tables, and what limits the numbers."""
    out.print(Text(title(measurement), "bold"))
    show_tables(measurement)
    lag = lag_behind_alltoall(measurement)
    if lag:
        out.print(Text(lag, "bold"))
    out.print(Text(verdict(measurement), "bold red" if wrong_blocks(measurement) else "green"))
    for sentence in not_run_sentences(measurement):
        out.print(Text(sentence, "bold red"))
    for note in [*([] if has_parts(measurement) else few_repetitions(measurement)), *caveats(measurement)]:
        out.print(Text(note, "dim"))
