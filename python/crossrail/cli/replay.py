"""`crossrail replay`."""

import json
from pathlib import Path
from typing import Optional

import typer

from crossrail.bench.recording import left_out_sentence, read_recording
from crossrail.bench.replay import ReplayChoice, replay
from crossrail.bench.request import Where, check_seconds
from crossrail.console import out
from crossrail.launchers import MOST_RANKS
from crossrail.outputs import check_files, write_file
from crossrail.places import check_flavour
from crossrail.report.replay_tables import replay_csv, show_replay
from crossrail.settings_text import check_that_on

REPLAY_HELP = """Make the recorded calls of a program again, natively and with crossrail in turns.

FILE is what 'crossrail run --record FILE' has written. Communicators, datatypes, counts and the time between calls are the
program's; data are made up, and the results of both are compared. The answer is what crossrail would give this program.

\b
Examples:
  crossrail run -n 8 --record calls.json -- ./app input.txt
  crossrail replay calls.json
  crossrail replay calls.json --no-gaps --turns 20 --csv calls.csv -- --bind-to core

Words behind '--' are the launcher's. The exit code is 1 where results differ.
"""


def replay_command(
    context: typer.Context,
    file: Path = typer.Argument(..., help="The recorded calls.", show_default=False),
    ranks: Optional[int] = typer.Option(None, "-n", "--ranks", min=1, max=MOST_RANKS, help="Number of ranks: as many as were recorded.", show_default=False),
    flavour: Optional[str] = typer.Option(None, "--mpi", help="Flavour of MPI: openmpi, mpich or abi; the recorded one.", show_default=False),
    launcher: Optional[str] = typer.Option(None, "--launcher", help="mpirun, mpiexec or srun to use.", show_default=False),
    hosts: Optional[int] = typer.Option(None, "-H", "--hosts", min=1, help="On so many hosts of a cluster on this machine.", show_default=False),
    turns: int = typer.Option(7, "--turns", min=1, help="Turns of each kind at most; below six there are no confidence intervals."),
    most_seconds: float = typer.Option(60, "--max-time", min=0, help="No turn begins that would end after so many seconds."),
    no_gaps: bool = typer.Option(False, "--no-gaps", help="Without the time between the calls."),
    output: Optional[Path] = typer.Option(None, "--output", help="Write every turn to this JSON file.", show_default=False),
    csv: Optional[Path] = typer.Option(None, "--csv", help="Write a line for every call to this file.", show_default=False),
) -> None:
    """See REPLAY_HELP."""
    check_files(output, csv, read=[file])
    check_flavour(flavour)
    check_that_on("replayed")
    check_seconds("--max-time", most_seconds or None)  # 0: one turn of each
    recording = read_recording(file)
    where = Where(ranks or recording["ranks"], flavour, launcher, tuple(context.obj.launcher), hosts)
    with out.status("replaying the recorded calls…"):
        replayed = replay(recording, where, ReplayChoice(turns, most_seconds, not no_gaps))
    show_replay(replayed)
    if left_out_sentence(recording):
        out.print(left_out_sentence(recording), soft_wrap=True)
    if output:
        write_file(output, json.dumps(replayed) + "\n")
    if csv:
        write_file(csv, replay_csv(replayed))
    raise typer.Exit(1 if replayed["different"] or replayed["failed"] else 0)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command("replay", help=REPLAY_HELP)(replay_command)
