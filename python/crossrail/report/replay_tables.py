"""A replay of recorded calls: the table, the sentences, and lines for other programs."""

import csv
import io
from html import escape
from typing import Any, Dict, List

from rich.table import Table
from rich.text import Text

from crossrail.bench.replay import Line, Median, lines
from crossrail.console import out
from crossrail.report.document import scrolling
from crossrail.sizes import format_count

HEADINGS = ("call", "calls of a rank", "native s", "crossrail s", "gain s", "")
COLUMNS = ("call", "calls_per_rank", "native_s", "native_low_s", "native_high_s", "crossrail_s", "crossrail_low_s", "crossrail_high_s", "gain_s", "gain_low_s",
           "gain_high_s")


def median_text(median: Median) -> str:
    """'0.190 [0.181, 0.202]'."""
    return f"{median.value:.4g}" + (f" [{median.low:.4g}, {median.high:.4g}]" if median.low is not None else "")


def verdict_of(one: Line) -> str:
    """'1.31x faster', '1.10x slower', or that nothing can be told."""
    if not one.certain or not one.crossrail.value or not one.native.value:
        return "no difference beyond noise" if one.gain.low is not None else "too few turns to tell"
    ratio = one.native.value / one.crossrail.value
    return f"{ratio:.2f}x faster" if ratio >= 1 else f"{1 / ratio:.2f}x slower"


def who_is_wrong(replayed: Dict[str, Any]) -> List[str]:
    """A sentence for the MPI library and one for crossrail, where its results are not what the definition of the call gives."""
    said = []
    for side, key in (("the MPI library's own", "native_wrong"), ("crossrail's", "crossrail_wrong")):
        wrong = [f"{int(count)} of MPI_{name.capitalize()}" for name, count in zip(replayed["names"], replayed.get(key, [])) if count]
        if wrong:
            said.append(f"Compared with the definition of the calls, {side} results are wrong in {', '.join(wrong)}.")
    return said


def sentences(replayed: Dict[str, Any]) -> List[str]:
    """What it would give the program, and what was checked."""
    total = lines(replayed)[-1]
    outside = replayed["outside_seconds"]
    native, carried = outside + total.native.value, outside + total.crossrail.value
    said = [f"The program's own work took {outside:.3f} s of the recorded run ({replayed['wall_seconds']:.3f} s). With its calls as replayed it would take "
            f"{native:.3f} s natively, {carried:.3f} s with crossrail: {native - carried:+.3f} s, {100 * (native - carried) / native if native else 0:+.1f} % of the run."]
    if total.gain.low is not None:
        share = [100 * bound / native if native else 0 for bound in (total.gain.low, total.gain.high)]
        said.append(f"With 95 % confidence the gain is {share[0]:+.1f} % to {share[1]:+.1f} %" + ("." if total.certain else ": no difference beyond noise."))
    if replayed["different"] or replayed["failed"]:
        said.append(f"WRONG: {replayed['different']} results differ, {replayed['failed']} calls failed, of {replayed['checked_calls']} that were compared.")
    else:
        said.append(f"The results of {format_count(replayed['checked_calls'])} calls were compared: all are the same.")
    said += who_is_wrong(replayed)
    if not replayed["gaps"]:
        said.append("Without the gaps between the calls: ranks come to them closer together than in the program, and caches are warmer.")
    return said


def show_replay(replayed: Dict[str, Any]) -> None:
    """Prints the table and the sentences."""
    turns = len(replayed["native"])
    out.print(Text(f"\nThe calls of {replayed['program']}, {replayed['ranks']} ranks, replayed {turns} times natively and {turns} times with crossrail, in turns", "bold"))
    table = Table()
    for number, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="left" if number in (0, 5) else "right")
    for one in lines(replayed):
        table.add_row(one.name, f"{one.calls:.6g}", median_text(one.native), median_text(one.crossrail), median_text(one.gain), verdict_of(one))
    out.print(table)
    out.print("Seconds a rank spends inside the calls, waiting for late ranks included: mean over the ranks, median over the turns"
              + (" [95 % confidence interval]." if turns > 5 else "."), soft_wrap=True)
    for sentence in sentences(replayed):
        out.print(sentence, soft_wrap=True)


def replay_html(replayed: Dict[str, Any]) -> str:
    """The same as a section of a page."""
    body = "".join(f'<tr><td class="word">{escape(one.name)}</td><td>{one.calls:.6g}</td><td>{median_text(one.native)}</td><td>{median_text(one.crossrail)}</td>'
                   f'<td>{median_text(one.gain)}</td><td class="word">{verdict_of(one)}</td></tr>' for one in lines(replayed))
    head = "".join(f'<th class="word">{heading}</th>' if number in (0, 5) else f"<th>{heading}</th>" for number, heading in enumerate(HEADINGS))
    return (f"<h2>The calls of {escape(replayed['program'])} replayed</h2>" + "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences(replayed))
            + scrolling(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>", "The replay"))


def replay_csv(replayed: Dict[str, Any]) -> str:
    """A line for every call and one for all; seconds, empty where an interval is not known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in lines(replayed):
        writer.writerow([one.name, f"{one.calls:.9g}", *(number for median in (one.native, one.crossrail, one.gain) for number in (median.value, median.low, median.high))])
    return text.getvalue()
