"""The table of simulated rows: each with a comment that says how sure it is; and what `crossrail tune --simulate` shows."""

import datetime
import shlex
import textwrap
from typing import List, Optional, Union

from rich.table import Table

from crossrail.algorithms import compact
from crossrail.console import out, warn
from crossrail.simulation.peers import PEERS
from crossrail.sizes import format_size
from crossrail.tuning.simulated import Outcome, SimulatedTuning
from crossrail.tuning.simulated_decision import LOSS, Ends, SimulatedRow, Span, rows_for
from crossrail.tuning.table import Row, spans, write_rows

WIDTH = 140  # letters of a comment


def sizes_text(row: SimulatedRow) -> str:
    """Returns '8 B to 512 B'."""
    return format_size(row.low) + (f" to {format_size(row.high)}" if row.high > row.low else "")


def nodes_text(span: Span) -> str:
    """Returns '17-32', as the table has it."""
    return f"{span.low}-{span.high}" if span.high > span.low else str(span.low)


def band(ends: Optional[Ends]) -> str:
    """Returns '1.05 to 1.30', or '1.05' if both ends are that, or '-' if nothing was compared."""
    return " to ".join(dict.fromkeys(f"{end:.2f}" for end in ends)) if ends else "-"


def sure_sentence(row: SimulatedRow) -> str:
    """Returns how sure a row is."""
    if row.sure:
        return f"It is sure within the model: in every case it is within {LOSS * 100:.0f} % of the best time."
    return f"It is not sure: in one case it takes {row.worst:.2f} times as long as the best."


def comment(tuning: SimulatedTuning, row: SimulatedRow, peers: List[str]) -> List[str]:
    """Returns the lines of comment before a row."""
    parts = [f"This row is simulated, not measured, on {tuning.machine.name}, with blocks of {sizes_text(row)}. {sure_sentence(row)}"]
    if row.over_peer:
        parts.append(f"It is {band(row.over_peer)} times as fast as {'the better of ' if len(peers) > 1 else ''}{' and '.join(PEERS[one] for one in peers)},")
        parts.append(f"and {band(row.over_second)} times as fast as the second best, {row.second}." if row.second else "and nothing else was tried.")
    else:
        parts.append(f"It is {band(row.over_second)} times as fast as the second best, {row.second}." if row.second else "Nothing else was tried.")
    return [f"# {line}" for line in textwrap.wrap(" ".join(parts), WIDTH, break_long_words=False)]


def table_lines(tuning: SimulatedTuning, outcome: Outcome) -> List[Union[str, Row]]:
    """Returns the rows of the table, each with its comment before it."""
    ranks = spans({evidence.ranks_per_node for evidence in outcome.evidence if evidence.times})
    lines: List[Union[str, Row]] = []
    for evidence in outcome.evidence:
        for row in rows_for(evidence) if evidence.times else []:
            name, _, parameters = row.winner.partition(" ")
            lines += [*comment(tuning, row, evidence.peers),
                      [tuning.collective, "host", "*", nodes_text(row.span), ranks[row.ranks_per_node], "*", compact(row.high), name, parameters]]
    return lines


def head(tuning: SimulatedTuning, outcome: Outcome) -> List[str]:
    """Returns the comments at the top of the table."""
    simulated = "; ".join(f"{', '.join(map(str, one.nodes))} nodes of {one.ranks_per_node} ranks" for one in outcome.evidence if one.times)
    return [f"Tuning table for crossrail. Put into force by CROSSRAIL_TUNING={shlex.quote(tuning.output.name)} (with its path).",
            "Every row is simulated and nothing was measured. A row takes the algorithm that is the least bad in the worst case: at both ends of the machine's",
            "ranges, over each transport, and on both simulated numbers of nodes between which it holds.",
            f"Machine: {tuning.machine.name} ({tuning.machine.file.name})", f"Transport: {tuning.machine.kind}", f"Simulated: {simulated}",
            f"Date: {datetime.date.today().isoformat()}", f"Command: {tuning.command}"]


def shown(outcome: Outcome) -> Table:
    """Returns the rows as the terminal shows them."""
    table = Table()
    for heading in ("nodes", "ranks a node", "blocks", "algorithm", "times the best time", "times as fast as the best peer", "as the second best", "second best"):
        table.add_column(heading, justify="left" if heading in ("blocks", "algorithm", "second best") else "right")
    for row in (row for evidence in outcome.evidence if evidence.times for row in rows_for(evidence)):
        table.add_row(nodes_text(row.span), str(row.ranks_per_node), sizes_text(row), row.winner, f"{row.worst:.2f}", band(row.over_peer), band(row.over_second), row.second or "-")
    return table


def conclude(tuning: SimulatedTuning, outcome: Outcome) -> int:
    """Decides, shows and writes the table, and returns the exit code."""
    out.print(shown(outcome))
    kept = write_rows(tuning.output, head(tuning, outcome), table_lines(tuning, outcome))
    out.print(f"Written to {tuning.output}" + (f", above what was there before ({kept} row{'s' if kept != 1 else ''})." if kept else "."), soft_wrap=True)
    out.print("These rows are simulated, not measured. Measure where you can: crossrail tune without --simulate.")
    if outcome.ended:
        warn(f"{outcome.ended} The table has what was complete.")
        return outcome.ended.exit_code
    return 0
