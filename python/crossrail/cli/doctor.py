"""`crossrail doctor`: what works here, what does not, and what to do."""

import json
from dataclasses import asdict

import typer
from rich.text import Text

from crossrail.console import out
from crossrail.machine.finding import BROKEN, NOTE, OK
from crossrail.machine.health import examine, remove_orphans

DOCTOR_HELP = """Check this machine: libraries, mpirun, shared memory, permissions, cores, GPUs.

Files of ended jobs in /dev/shm are told, and removed with --clean: those of yours that are ten minutes old and that no process has open.

"note" means that crossrail works, but slower or with less; "broken" that something has to be done. The exit code
is 1 when anything is broken.
"""
STYLES = {OK: "green", NOTE: "yellow", BROKEN: "bold red"}


def doctor_command(
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    clean: bool = typer.Option(False, "--clean", help="Remove what ended jobs have left in /dev/shm."),
) -> None:
    """See DOCTOR_HELP."""
    removed = remove_orphans() if clean else []
    findings = [*examine(), *removed]
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=1))
    else:
        for finding in findings:
            out.print(Text.assemble((f"{finding.level:>7}  ", STYLES[finding.level]), finding.words))
            if finding.advice:
                out.print(Text(f"         {finding.advice}", "dim"))
    raise typer.Exit(1 if any(finding.level == BROKEN for finding in findings) else 0)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command("doctor", help=DOCTOR_HELP)(doctor_command)
