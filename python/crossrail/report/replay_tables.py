"""A replay of recorded calls: the table, the sentences, and lines for other programs."""

import csv
import io
import math
from html import escape
from typing import Any, Dict, List

from rich.table import Table
from rich.text import Text

from crossrail.bench.replay import FEWEST_TURNS, Line, Median, lines
from crossrail.console import out
from crossrail.report.document import html_table
from crossrail.sizes import format_count, format_means

HEADINGS = ("call", "calls of a rank", "native s", "crossrail s", "gain s", "difference")
WORDS = (0, 5)  # columns that are no numbers
ALIKE = 2.0  # the recorded run's time in its calls and the replay's may differ by this factor; with more it is another situation
NOTICED = 0.01  # of the run
COLUMNS = ("call", "calls_per_rank", "native_s", "native_low_s", "native_high_s", "crossrail_s", "crossrail_low_s", "crossrail_high_s", "gain_s", "gain_low_s",
           "gain_high_s")


def decimals(replayed_lines: List[Line]) -> int:
    """The same for all seconds of the table, so that they stand below each other and add up: two digits of the least median, 3 to 6."""
    least = min((median.value for one in replayed_lines for median in (one.native, one.crossrail) if median.value > 0), default=1.0)
    return min(6, max(3, 1 - math.floor(math.log10(least))))


def median_text(median: Median, places: int) -> str:
    """'0.190 [0.181, 0.202]'."""
    low, high = median.low, median.high
    return f"{median.value:.{places}f}" + (f" [{low:.{places}f}, {high:.{places}f}]" if low is not None else "")


def replay_rows(replayed: Dict[str, Any]) -> List[List[str]]:
    """The cells of HEADINGS, a row for every kind of call, the last for all."""
    found = lines(replayed)
    places = decimals(found)
    return [[one.name, calls, *(median_text(median, places) for median in (one.native, one.crossrail, one.gain)), verdict_of(one)]
            for one, calls in zip(found, format_means([one.calls for one in found]))]


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


def unlike_the_recorded_run(replayed: Dict[str, Any], carried: float) -> str:
    """A sentence where the calls took a much different time while they were recorded; empty where that is alike, or too little to matter to the run."""
    recorded = replayed["wall_seconds"] - replayed["outside_seconds"]
    if recorded / ALIKE <= carried <= recorded * ALIKE or abs(carried - recorded) < NOTICED * replayed["wall_seconds"]:
        return ""
    why = "this machine is busier or slower than it was" if carried > recorded else "ranks waited for each other longer there, or the machine was busier"
    return f"Inside its calls that run spent {recorded:.3g} s, the replay with crossrail {carried:.3g} s: {why}. So nothing is concluded for the program."


def estimate(replayed: Dict[str, Any]) -> List[str]:
    """What its calls as replayed would make of the recorded run, as far as that can be told."""
    total, outside = lines(replayed)[-1], replayed["outside_seconds"]
    own = f"The program's own work took {outside:.3f} s of the recorded run ({replayed['wall_seconds']:.3f} s)."
    unlike = unlike_the_recorded_run(replayed, total.crossrail.value)
    if unlike:
        return [own, unlike]
    native, carried = outside + total.native.value, outside + total.crossrail.value
    said = f"{own} With its calls as replayed it would take {native:.3f} s natively, {carried:.3f} s with crossrail"
    if total.gain.low is None:
        return [f"{said}.", f"How much of the difference is noise cannot be told from fewer than {FEWEST_TURNS} turns of each kind (--turns, --max-time)."]
    gain, low, high = (100 * seconds / native if native else 0 for seconds in (native - carried, total.gain.low, total.gain.high))
    return [f"{said}: {native - carried:+.3f} s, {gain:+.1f} % of the run.",
            f"With 95 % confidence the gain is {low:+.1f} % to {high:+.1f} %" + ("." if total.certain else ": no difference beyond noise.")]


def sentences(replayed: Dict[str, Any]) -> List[str]:
    """What it would give the program, and what was checked."""
    said = estimate(replayed)
    if replayed["different"] or replayed["failed"]:
        said.append(f"WRONG: {replayed['different']} results differ, {replayed['failed']} calls failed, of {replayed['checked_calls']} that were compared.")
    else:
        said.append(f"The results of {format_count(replayed['checked_calls'])} calls were compared: all are the same.")
    said += who_is_wrong(replayed)
    if not replayed["gaps"]:
        said.append("Without the gaps between the calls: ranks come to them closer together than in the program, and caches are warmer.")
    return said


def times(count: int) -> str:
    """'once', '7 times'."""
    return "once" if count == 1 else f"{count} times"


def show_replay(replayed: Dict[str, Any]) -> None:
    """Prints the table and the sentences."""
    turns = len(replayed["native"])
    out.print(Text(f"\nThe calls of {replayed['program']}, {replayed['ranks']} ranks, replayed {times(turns)} natively and {times(turns)} with crossrail, in turns", "bold"))
    table = Table()
    for number, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="left" if number in WORDS else "right")
    for row in replay_rows(replayed):
        table.add_row(*row)
    out.print(table)
    out.print("Seconds a rank spends inside the calls, waiting for late ranks included: mean over the ranks, median over the turns"
              + (" [95 % confidence interval]." if turns >= FEWEST_TURNS else "."))
    for sentence in sentences(replayed):
        out.print(Text(sentence))


def replay_html(replayed: Dict[str, Any]) -> str:
    """The same as a section of a page."""
    return (f"<h2>The calls of {escape(replayed['program'])} replayed</h2>" + "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences(replayed))
            + html_table(HEADINGS, replay_rows(replayed), WORDS, "The replay"))


def replay_csv(replayed: Dict[str, Any]) -> str:
    """A line for every call and one for all; seconds, empty where an interval is not known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in lines(replayed):
        writer.writerow([one.name, f"{one.calls:.9g}", *(number for median in (one.native, one.crossrail, one.gain) for number in (median.value, median.low, median.high))])
    return text.getvalue()
