"""`crossrail cluster`."""

import shlex
from dataclasses import astuple
from pathlib import Path
from typing import Optional

import typer

from crossrail.cluster.hosts import Cluster
from crossrail.cluster.launch import cluster_start, run_on
from crossrail.cluster.plan import resolve_ranks
from crossrail.helper_processes import MOST as MOST_HELPERS, helpers_of
from crossrail.errors import CliError
from crossrail.jobs import RunChoice, prepare
from crossrail.launchers import MOST_RANKS, core_count
from crossrail.outputs import check_files
from crossrail.report.reported_run import ReportChoice, run_with_report
from crossrail.report.traced_run import run_traced

CLUSTER_HELP = """Start an MPI program with crossrail on a cluster that lives on this machine.

Every host is a network namespace with its own name, cores, address and shared memory; the MPI's own mpirun starts
ranks on all of them, and bytes between hosts go through TCP. Needs root and iproute2. Ranks are distributed in blocks, and so are the GPUs where there are enough.
Words before '--' that are not options of crossrail go to that mpirun.

\b
Examples:
  crossrail cluster -H 4 -n 56 -- ./app input.txt
  crossrail cluster --per-host 3,1,2 --report -- ./app
  crossrail cluster -H 2 -n 8 --bandwidth 10gbit --native -- ./app
  crossrail cluster -H 2 -n 4 --mpi mpich -- python3 transform.py

The exit code is the launcher's.
"""


def cluster_command(
    context: typer.Context,
    hosts: Optional[int] = typer.Option(None, "-H", "--hosts", help="Number of hosts; 2 if not given.", show_default=False),
    ranks: Optional[int] = typer.Option(None, "-n", "--ranks", max=MOST_RANKS, help="Number of ranks (also -np); one a core if not given.", show_default=False),
    per_host: Optional[str] = typer.Option(None, "--per-host", help="Ranks of each host instead: 3,1,2.", show_default=False),
    bandwidth: Optional[str] = typer.Option(None, "--bandwidth", help="What each host can send, and receive: 10gbit, 800mbit.", show_default=False),
    native: bool = typer.Option(False, "--native", help="Without crossrail, to compare."),
    flavour: Optional[str] = typer.Option(None, "--mpi", help="Flavour of MPI: openmpi, mpich or abi.", show_default=False),
    launcher: Optional[str] = typer.Option(None, "--launcher", help="mpirun or mpiexec to use.", show_default=False),
    report: bool = typer.Option(False, "--report", help="Afterwards, print which calls were carried, and their sizes."),
    report_folder: Optional[str] = typer.Option(None, "--report-folder", help="Keep the reports here.", show_default=False),
    html: Optional[Path] = typer.Option(None, "--html", help="Write the report to this file, too, as a page.", show_default=False),
    trace: Optional[Path] = typer.Option(None, "--trace", help="Write what every rank did, and when, to this file, for ui.perfetto.dev.", show_default=False),
    helpers: int = typer.Option(0, "--helpers-per-gpu", min=0, max=MOST_HELPERS, help="Helper processes beside each rank, as of 'crossrail run'."),
    show: bool = typer.Option(False, "--show", help="Print the command of the first host instead of running it."),
) -> None:
    """See CLUSTER_HELP."""
    parts = context.obj
    if not parts.program:
        raise CliError("No program is given: crossrail cluster -H 2 -n 4 -- ./app")
    if native and (report or report_folder or html or trace or helpers):
        raise CliError("With --native there is no crossrail to report, to trace, or to help: leave out --native, or --report, --trace and --helpers-per-gpu.")
    if not show:
        check_files(html, trace)
    distributed = resolve_ranks(hosts, ranks, per_host, core_count())
    job = prepare(parts.program, parts.launcher, RunChoice(flavour, launcher, sum(distributed), native))
    with Cluster(distributed, bandwidth) as cluster:
        if show:
            typer.echo(" ".join(shlex.quote(word) for word in cluster_start(cluster, job).words))
            return

        def run() -> int:
            """The job beside its helper processes."""
            with helpers_of(job, helpers, lambda one: astuple(cluster_start(cluster, one))):
                if report or report_folder or html:
                    return run_with_report(job, ReportChoice(report_folder, html), lambda one: run_on(cluster, one))
                return run_on(cluster, job)

        raise typer.Exit(run_traced(job, trace, run))


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command("cluster", help=CLUSTER_HELP)(cluster_command)
