"""The table and the bars of `crossrail run --report`."""

from typing import Container, List, Sequence

from rich.table import Table
from rich.text import Text

from crossrail import collectives
from crossrail.console import out
from crossrail.errors import CliError
from crossrail.report.call_reports import CallSummary, JobReport
from crossrail.report.size_words import size_words
from crossrail.report.time_share import (REASON_HEADINGS, REASON_WORDS, SHARE_EXPLANATION, SHARE_HEADINGS, SHARE_WORDS, reason_rows, run_time,
                                         share_rows)
from crossrail.sizes import format_count, format_means, format_size, format_time_us

CALL_HEADINGS = ("call", "interface", "carried", "native", "errors", "seconds, slowest", "algorithms (all processes)")
CALL_WORDS = (0, 1, 6)  # columns that are no numbers
BAR_WIDTH, BESIDE_BARS = 32, 28  # letters: of the longest bar, and of the size and the count beside it
MOST_PLANS = 16
OVERLAP_HEADINGS = ("call", "interface", "carried by", "calls", "starting s", "waiting s", "under way s", "hidden")
OVERLAP_WORDS = 3  # so many columns first
OVERLAP_EXPLANATION = (
    "Seconds of the process that spent most on them. starting: in MPI_Ialltoall, MPI_Start, …; waiting: in MPI_Wait, MPI_Waitall, MPI_Test, … with such "
    "a call among the requests, whatever else was waited for; under way: while at least one such call had begun and had not ended (native calls end for "
    "us when the program learns of it). hidden: 1 − (starting + waiting) / under way, at least 0: what part of that time the program was elsewhere, "
    "with work of its own or in other MPI calls. It is the most that can have been hidden: a call does not end while nothing advances it.")
NOTHING = ("No collective call of MPI was seen, and no process wrote a report: the program made none before it ended, is statically linked, or was "
           "started by a wrapper that drops LD_PRELOAD; or its nodes do not see this folder (then use --report-folder on a shared file system).")

NO_CALL = "No collective call was made."


def span(counts: List[int]) -> str:
    """Counts of several processes: '5 635' where all agree, else '12–40'."""
    low, high = min(counts), max(counts)
    return format_count(low) if low == high else f"{format_count(low)}–{format_count(high)}"


def call_rows(report: JobReport) -> List[List[str]]:
    """One row a function and interface."""
    return [[call.name, call.interface, span(call.carried), span(call.native), format_count(call.errors),
             f"{call.seconds:.3f}" if call.seconds else "-",
             ", ".join(f"{name} {format_count(count)}" for name, count in call.algorithms.most_common()) or "-"] for call in report.calls]


def call_table(report: JobReport) -> Table:
    """The table of these rows."""
    table = Table()
    for number, heading in enumerate(CALL_HEADINGS):
        table.add_column(heading, justify="left" if number in CALL_WORDS else "right", no_wrap=number == 0)
    for call, (name, interface, carried, native, errors, *others) in zip(report.calls, call_rows(report)):
        table.add_row(name, interface, Text(carried, "green" if sum(call.carried) else "dim"), native,
                      Text(errors, "bold red" if call.errors else "dim"), *others)
    return table


def percents(parts: List[float]) -> str:
    """Parts of several processes: '62 %' where all agree, else '40–62 %'."""
    low, high = round(100 * min(parts)), round(100 * max(parts))
    return f"{low} %" if low == high else f"{low}–{high} %"


def overlap_rows(report: JobReport) -> List[List[str]]:
    """Nonblocking and persistent calls, by who carried them: times of the process that spent most on them."""
    rows = []
    for call in report.calls:
        for by, processes in sorted(call.overlaps.items()):
            slowest = max(processes, key=lambda one: one.starting + one.waiting)
            times = [f"{seconds:.3f}" for seconds in (slowest.starting, slowest.waiting, slowest.under_way)]
            rows.append([call.name, call.interface, by, span([one.calls for one in processes]), *times,
                         percents([one.hidden for one in processes])])
    return rows


def histogram_lines(call: CallSummary) -> List[Text]:
    """A bar for every size class: calls over all processes with a block up to that size."""
    largest, width = max(call.histogram.values()), max(1, min(BAR_WIDTH, out.width - BESIDE_BARS))
    lines = []
    for bound, count in sorted(call.histogram.items()):
        bar = "█" * max(1, round(width * count / largest))
        lines.append(Text.assemble((f"  up to {format_size(bound):>9} ", "dim"), (bar.ljust(width), "cyan"),
                                   f" {format_count(count)}"))
    return lines


def knows_sizes(name: str) -> bool:
    """Whether a plan of this collective is for one size of block."""
    try:
        known = collectives.find(name)
    except CliError:  # a report needs no library
        return True
    return known is not None and known.knows_sizes


TRAFFIC_HEADINGS = ("plan", "block", "ranks/nodes", "calls", "sends", "on the network", "staged", "queue pairs", "memory")
TRAFFIC_WORDS = 1  # so many columns first
TRAFFIC_EXPLANATION = ("On the node where it was most: messages to other nodes, bytes in them and bytes copied into shared memory by call; "
                       "ranks elsewhere sent to; memory of the plan itself, beside the segment that the ranks of a node share.")


def traffic_rows(report: JobReport) -> List[List[str]]:
    """One row a kind of plan, of those that moved most."""
    plans = report.traffic[:MOST_PLANS]
    blocks = [format_size(plan.block_bytes) if plan.block_bytes or knows_sizes(plan.collective) else "any" for plan in plans]
    return [[f"{plan.collective} {plan.algorithm}", block, f"{plan.ranks}/{plan.nodes}", format_count(plan.calls),
             sends, format_size(round(plan.sent_bytes)), format_size(round(plan.staged_bytes)),
             format_count(plan.queue_pairs), format_size(plan.memory_bytes)]
            for plan, block, sends in zip(plans, blocks, format_means([plan.sends for plan in plans]))]


def more_plans(report: JobReport) -> str:
    """How many plans have no row; empty where all have one."""
    more = len(report.traffic) - MOST_PLANS
    return f"… and {more} more" if more > 0 else ""


COMPARISON_HEADINGS = ("collective", "block", "compared", "carried µs", "native µs", "given back", "taken back")
COMPARISON_WORDS = 2  # so many columns first
COMPARISON_EXPLANATION = ("Now and then some blocking calls are timed by both ways (CROSSRAIL_GUARD); where the MPI library's own was clearly the faster one, it "
                          "has had such calls from then on, until it was slower. Times of a call in the last comparison.")


def comparison_rows(report: JobReport) -> List[List[str]]:
    """What was compared with the MPI library's own collectives."""
    microseconds = 1e6
    return [[one.collective, f"{format_size(one.least_bytes)} to {format_size(one.most_bytes)}" if one.most_bytes else "any", f"{format_count(one.windows)}×",
             format_time_us(one.carried_seconds * microseconds), format_time_us(one.native_seconds * microseconds),
             f"{format_count(one.given_back)}×" if one.given_back else "-", f"{format_count(one.taken_back)}×" if one.taken_back else "-"]
            for one in report.comparisons]


def table_of(headings: Sequence[str], rows: List[List[str]], words: Container[int]) -> Table:
    """A table of text; the columns numbered in `words` are words, the others numbers."""
    table = Table()
    for number, heading_text in enumerate(headings):
        table.add_column(heading_text, justify="left" if number in words else "right", no_wrap=number not in words)
    for row in rows:
        table.add_row(*row)
    return table


def heading(report: JobReport) -> str:
    """Who reported."""
    hosts = {process.get("host") for process in report.processes}
    mpi = report.processes[0].get("mpi", "").split(",")[0].strip() if report.processes else ""
    count = len(report.processes)
    return f"crossrail: {count} process{'' if count == 1 else 'es'} on {len(hosts)} host{'' if len(hosts) == 1 else 's'}, {mpi}"


def warnings(report: JobReport) -> List[str]:
    """How the job ended, and what is missing from the report."""
    missing = report.expected - len(report.processes)
    why = ": killed, or on other nodes (then use --report-folder on a shared file system)." if missing > len(report.unreadable) else " that can be read."
    ranks = [f"{missing} of {report.expected} ranks left no report here{why}"] if missing > 0 else []
    more = len(report.processes) > report.expected > 0
    jobs = [f"{len(report.processes)} processes of several jobs, of {report.expected} ranks at most, or of one that has started others, are added up here."] * more
    return [report.ending] * bool(report.ending) + ranks + jobs + [f"{name} is incomplete and was left out." for name in report.unreadable]


def show_run_time(report: JobReport) -> None:
    """How long the run was, and what part of it was exchanges."""
    time = run_time(report)
    for sentence in time.sentences() if time else []:
        out.print(Text(sentence))


def show_calls(report: JobReport) -> None:
    """Counts, times and reasons."""
    out.print("Calls of each process (a range where processes differ); native: left to the MPI library")
    out.print(call_table(report))
    shares = share_rows(report)
    if shares:
        out.print(SHARE_EXPLANATION)
        out.print(table_of(SHARE_HEADINGS, shares, range(SHARE_WORDS)))
    reasons = reason_rows(report)
    if reasons:
        out.print(Text("Why calls were native", "bold"))
        out.print(table_of(REASON_HEADINGS, reasons, REASON_WORDS))


def show_traffic(report: JobReport) -> None:
    """What was moved."""
    if not report.traffic:
        return
    out.print(Text("What crossrail moved", "bold"))
    out.print(TRAFFIC_EXPLANATION)
    table = Table()
    for number, heading_text in enumerate(TRAFFIC_HEADINGS):
        table.add_column(heading_text, justify="left" if number < TRAFFIC_WORDS else "right", no_wrap=True)
    for row in traffic_rows(report):
        table.add_row(*row)
    out.print(table)
    if more_plans(report):
        out.print(more_plans(report))


def show_sizes(report: JobReport) -> None:
    """The sizes of calls that have them; of calls that are only counted, none are known."""
    for call in report.calls:
        if call.histogram and call.bytes:
            out.print(Text(f"{call.name} ({call.interface}): sizes ({size_words(call.name)}); calls of all processes", "bold"))
            for line in histogram_lines(call):
                out.print(line)


def show_report(report: JobReport) -> None:
    """Prints who reported, how long that took, the calls, and the sizes of those that have them."""
    if report.processes:
        out.print(Text(f"\n{heading(report)}", "bold"))
    for text in warnings(report) + ([] if report.processes else [NOTHING]):
        out.print(Text(text, "yellow"))
    if not report.processes:
        return
    if not report.calls:
        out.print(NO_CALL)
        return
    show_run_time(report)
    show_calls(report)
    show_traffic(report)
    rows = overlap_rows(report)
    if rows:
        out.print(Text("Nonblocking and persistent calls", "bold"))
        out.print(OVERLAP_EXPLANATION)
        out.print(table_of(OVERLAP_HEADINGS, rows, range(OVERLAP_WORDS)))
    compared = comparison_rows(report)
    if compared:
        out.print(Text("Compared with the MPI library", "bold"))
        out.print(COMPARISON_EXPLANATION)
        out.print(table_of(COMPARISON_HEADINGS, compared, range(COMPARISON_WORDS)))
    show_sizes(report)
