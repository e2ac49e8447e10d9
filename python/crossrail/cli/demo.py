"""`crossrail demo`: an unmodified program without and with crossrail, what it could gain at most, then its own calls replayed."""

import statistics
import tempfile
from html import escape
from pathlib import Path
from typing import List, Optional

import typer
from rich.table import Table
from rich.text import Text

from crossrail.bench.recording import merge
from crossrail.bench.replay import ReplayChoice, replay
from crossrail.bench.request import Where
from crossrail.console import out
from crossrail.demonstration import Outcome, Subject, espresso, play, same_results, transposition
from crossrail.errors import CliError
from crossrail.flavours import find_flavour
from crossrail.launchers import MOST_RANKS, core_count
from crossrail.outputs import check_files, check_folder, write_file
from crossrail.places import source_tree
from crossrail.report.call_tables import show_report
from crossrail.report.document import scrolling
from crossrail.report.page import render_page
from crossrail.report.replay_tables import replay_html, show_replay
from crossrail.report.time_share import run_time
from crossrail.sizes import format_count

REPLAY = ReplayChoice(turns=9, most_seconds=60)  # so that all of the demo takes less than two minutes

DEMO_HELP = """Run a real, unmodified program without and with crossrail and compare what it prints.

The program is Quantum ESPRESSO's pw.x (Fortran, Open MPI) on eight silicon atoms. Every energy it prints must
agree to the last digit. Then it says what faster exchanges could give this program at most, and replays the program's own
calls natively and with crossrail in turns. The exit code is 1 when an energy or a replayed result differs, or no call was
carried.
"""


def resolve_subject(folder: Path) -> Subject:
    """pw.x where it is there, else the fallback, saying so."""
    subject = espresso()
    if subject:
        return subject
    out.print("pw.x (packages quantum-espresso, quantum-espresso-data) is not here; showing examples/transpose.c instead.")
    return transposition(folder)


def allowed_ranks(subject: Subject, ranks: int) -> int:
    """The largest number up to `ranks` that the subject can use; raises CliError below 2."""
    if ranks < 2:
        raise CliError("The demo needs at least 2 ranks: -n 2.")
    return 1 << (ranks.bit_length() - 1) if subject.power_of_two else ranks


def play_rounds(subject: Subject, ranks: int, rounds: int) -> tuple:
    """`rounds` runs of each kind, taking turns: (plain outcomes, carried outcomes). Raises CliError when one fails."""
    plain: List[Outcome] = []
    carried: List[Outcome] = []
    for number in range(rounds):
        for outcomes, with_crossrail in ((plain, False), (carried, True)):
            kind = "with crossrail" if with_crossrail else "without crossrail"
            with out.status(f"{subject.title}, {ranks} ranks, {kind}, run {number + 1} of {rounds}…"):
                outcomes.append(play(subject, ranks, with_crossrail))
            if outcomes[-1].code:
                raise CliError(f"The program failed {kind} (exit code {outcomes[-1].code}):\n{outcomes[-1].printed[-2000:]}")
    return plain, carried


def median_text(values: List[Optional[float]]) -> str:
    """'2.31 s', or '-' where the program has no such clock."""
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):.2f} s" if known else "-"


def last_result(outcomes: List[Outcome]) -> str:
    """The last line that is compared, without its marks and blanks."""
    return " ".join(outcomes[0].results[-1].lstrip("! ").split())


def result_rows(plain: List[Outcome], carried: List[Outcome]) -> List[tuple]:
    """(what, without, with) for the table on the terminal and on the page."""
    inside = [outcome.report.seconds("MPI_Alltoall") for outcome in carried]
    rows = [("last result", last_result(plain), last_result(carried)),
            ("results compared", str(len(plain[0].results)), str(len(carried[0].results))),
            (f"wall time, median of {len(plain)}", median_text([one.wall_s for one in plain]), median_text([one.wall_s for one in carried]))]
    if plain[0].exchange_s is not None:
        rows.append(("its own clock for FFT exchanges (fft_scatt)", median_text([one.exchange_s for one in plain]),
                     median_text([one.exchange_s for one in carried])))
    report = carried[0].report
    rows.append(("MPI_Alltoall carried, all ranks", "-", format_count(report.total("MPI_Alltoall", "carried"))))
    rows.append(("MPI_Alltoall left native, all ranks", "-", format_count(report.total("MPI_Alltoall", "native"))))
    rows.append(("time inside MPI_Alltoall, slowest rank", "-", median_text(inside)))
    return rows


def conclusion(plain: List[Outcome], carried: List[Outcome]) -> tuple:
    """(right or not, one sentence)."""
    if not same_results(plain):
        return False, "The program's results differ between runs without crossrail, so nothing can be compared."
    if not same_results(plain + carried):
        return False, "The results with crossrail DIFFER from those without it."
    report = carried[0].report
    if not report.total("MPI_Alltoall", "carried"):
        return False, "The results agree, but crossrail carried NO call."
    if any(call.errors for call in report.calls):
        return False, "The results agree, but calls ended with errors."
    return True, f"All {len(plain[0].results)} results agree to the last printed digit, in {len(plain) + len(carried)} runs."


def show_rows(subject: Subject, ranks: int, rows: List[tuple]) -> None:
    """Prints the comparison."""
    out.print(Text(f"\n{subject.title}, {ranks} ranks", "bold"))
    table = Table()
    table.add_column("")
    table.add_column("without crossrail", justify="right")
    table.add_column("with crossrail", justify="right")
    for row in rows:
        table.add_row(*row)
    out.print(table)


def introduction(subject: Subject, rows: List[tuple], sentence: str) -> str:
    """The page's first part, as HTML."""
    body = "".join(f'<tr><td class="word">{escape(what)}</td><td class="text">{escape(plain)}</td><td class="text">{escape(carried)}</td></tr>' for what, plain, carried in rows)
    table = f'<table><thead><tr><th class="word">what</th><th class="text">without crossrail</th><th class="text">with crossrail</th></tr></thead><tbody>{body}</tbody></table>'
    return f"<h2>{escape(subject.title)}</h2><p>{escape(sentence)}</p>{scrolling(table, 'The program without and with crossrail')}"


def default_page() -> Path:
    """build/demo.html in the tree, demo.html here when installed."""
    tree = source_tree()
    return tree / "build/demo.html" if tree else Path("demo.html")


def demo_command(
    ranks: int = typer.Option(max(2, core_count()), "-n", "--ranks", max=MOST_RANKS, help="Number of ranks."),
    rounds: int = typer.Option(3, "--rounds", min=1, help="Runs of each kind."),
    html: Path = typer.Option(default_page(), "--html", help="Write the page to this file."),
) -> None:
    """See DEMO_HELP."""
    if not html.is_dir():  # which check_files says
        check_folder(html.parent, made=True)
    html.parent.mkdir(parents=True, exist_ok=True)
    check_files(html)
    with tempfile.TemporaryDirectory(prefix="crossrail.") as folder:
        subject = resolve_subject(Path(folder))
        ranks = allowed_ranks(subject, ranks)
        flavour = find_flavour(subject.words[0]).flavour
        plain, carried = play_rounds(subject, ranks, rounds)
    show_report(carried[0].report)
    right, sentence = conclusion(plain, carried)
    rows = result_rows(plain, carried) if plain[0].results and carried[0].results else []
    show_rows(subject, ranks, rows)
    out.print(Text(sentence, "bold green" if right else "bold red"))
    time = run_time(carried[0].report)
    limits = time.sentences() if time else []
    for words in limits:
        out.print(words)
    with out.status("replaying the program's calls…"):
        replayed = replay(merge(carried[0].report.processes), Where(ranks, flavour), REPLAY)
    show_replay(replayed)
    body = introduction(subject, rows, sentence) + "".join(f"<p>{escape(words)}</p>" for words in limits) + replay_html(replayed)
    write_file(html, render_page("crossrail: the demo", body, []))
    out.print(f"The same as a page: {html}.")
    raise typer.Exit(0 if right and not replayed["different"] and not replayed["failed"] else 1)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command("demo", help=DEMO_HELP)(demo_command)
