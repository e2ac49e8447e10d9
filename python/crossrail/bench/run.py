"""This module runs a bench program under its launcher and reads what it measured."""

import datetime
import json
import os
import subprocess
from contextlib import ExitStack
from dataclasses import astuple
from pathlib import Path
from typing import IO, Callable, List, Optional

from crossrail import core
from crossrail.algorithms import compact
from crossrail.bench.measurements import Measurement, set_aside_not_run
from crossrail.bench.request import PING_PONG, BenchRequest, What, Where, bench_options
from crossrail.cluster.hosts import Cluster
from crossrail.cluster.launch import cluster_start, run_on
from crossrail.cluster.plan import distribute
from crossrail.collectives import exchange_names
from crossrail.helper_processes import helpers_of
from crossrail.errors import CliError, Stopped
from crossrail.flavours import find_flavour
from crossrail.job_folder import job_folder, may_be_elsewhere
from crossrail.launchers import Job, Launcher, check_launcher, command_line, core_count, find_launcher, named_launcher, own_settings, preload_value
from crossrail.machine.description import describe_machine
from crossrail.places import bench_program, built_flavours, preload_library, source_tree
from crossrail.sizes import format_size
from crossrail.supervise import Interruptions, supervise

REFUSED = 2  # It is the exit code of a bench program that cannot do what it is asked and says why.
Start = Callable[[Job, IO[str]], int]  # It runs a job, writes its output to a file, and returns the exit code.


class Unfinished(CliError):
    """Is raised if the bench program ended too early; `measurement` has the sizes before."""

    def __init__(self, sentence: str, measurement: Measurement) -> None:
        super().__init__(sentence)
        self.measurement = measurement


class Starter:
    """Starts jobs on this machine, or on a cluster made at the first job; `with` removes the cluster. Each rank has so many helper processes."""

    def __init__(self, hosts: Optional[int], ranks: int, helpers: int = 0) -> None:
        self.helpers = helpers
        self.distributed = distribute(ranks, hosts) if hosts is not None else []
        self.cluster: Optional[Cluster] = None
        self.stack = ExitStack()

    def __enter__(self) -> "Starter":
        return self

    def __exit__(self, *error) -> None:
        self.stack.__exit__(*error)
        self.cluster = None

    def __call__(self, job: Job, output: IO[str]) -> int:
        if not self.distributed:
            with helpers_of(job, self.helpers):
                self.check_helpers(job)
                return supervise(command_line(job), output=output)
        if not self.cluster:
            self.cluster = self.stack.enter_context(Cluster(self.distributed))
        cluster = self.cluster
        with helpers_of(job, self.helpers, lambda one: astuple(cluster_start(cluster, one))):
            self.check_helpers(job)
            return run_on(cluster, job, output=output)

    def check_helpers(self, job: Job) -> None:
        """Raises CliError if the helper processes have not started, because something else would be measured."""
        if self.helpers and "CROSSRAIL_HELPERS" not in job.environment:
            raise CliError(f"Nothing is measured with {self.helpers} helper processes a GPU, since they do not start.")


def chosen_flavour(flavour: Optional[str]) -> str:
    """Returns the flavour that was asked for, or otherwise the first one built."""
    built = built_flavours()
    return flavour or (built[0] if built else "openmpi")


def chosen_launcher(program: str, where: Where) -> Launcher:
    """Returns the launcher that was asked for, or otherwise that of the MPI library which the bench program loads."""
    flavour = chosen_flavour(where.flavour)
    if where.launcher:
        launcher = named_launcher(where.launcher)
        check_launcher(launcher, flavour, "that of the bench program; --mpi chooses another one")
        return launcher
    found = find_flavour(str(bench_program(program, flavour)))
    return find_launcher(flavour, found.library if found else None)


def bench_job(request: BenchRequest, output: Path) -> Job:
    """Returns the bench program's job; crossrail is preloaded unless MPI's own messages are measured. Raises CliError if a part is missing."""
    what, where = request.what, request.where
    flavour = chosen_flavour(where.flavour)
    program = bench_program(what.program, flavour)
    words = [str(program), "--min-bytes", str(what.min_bytes), "--max-bytes", str(what.max_bytes),
             "--algorithms", ",".join(what.contenders), "--output", str(output), "--ranks", str(where.ranks), *bench_options(request)]
    preloaded = {} if what.program == PING_PONG else {"LD_PRELOAD": preload_value(preload_library(flavour))}
    environment = {**own_settings(), **where.environment, **preloaded}
    return Job(chosen_launcher(what.program, where), where.ranks, words, list(where.launcher_words), environment, flavour)


def commit() -> str:
    """Returns the commit of the source tree, with '-dirty' if it was changed, or the version when installed."""
    tree = source_tree()
    if tree:
        done = subprocess.run(["git", "-C", str(tree), "describe", "--always", "--dirty"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False)
        if done.returncode == 0:
            return done.stdout.decode().strip()
    return core.version()


def words_of_peers(said: str) -> List[str]:
    """Returns what the bench and its peers say about contenders that were left out, each sentence once."""
    lines = [line for line in said.splitlines() if line.startswith(("bench: ", "nccl_peers: ", "copy_engine_limit: ", "stream_order: "))]
    return list(dict.fromkeys(lines))[:10]


def check_memory(what: What, ranks: int) -> None:
    """Raises CliError if this machine has less memory than the buffers of so many ranks would take if all ran here."""
    blocks = ranks if what.collective in exchange_names() else 1
    sides = 1 if what.in_place or what.collective.startswith("allgather") else 2  # It is at least this, because one side of an allgather is short.
    needed = ranks * blocks * sides * what.buffers * what.max_bytes * (100 - what.empty) // 100
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if needed > there:
        raise CliError(f"With --max {compact(what.max_bytes)} the buffers of {ranks} ranks take {format_size(needed)} or more; this machine has {format_size(there)} of memory.")


def run_bench(request: BenchRequest, start: Start) -> Measurement:
    """Runs the bench with `start` and returns its JSON.

    What the program prints is shown only when it fails, in the CliError that is raised: its own sentences if it refuses.
    Raises Unfinished if it has measured some sizes. Wrong data are no failure here, but are counted in the measurement.
    """
    where = request.where
    launcher = chosen_launcher(request.what.program, where)
    if request.what.memory == "host" and request.what.program != PING_PONG and not may_be_elsewhere(launcher, where.launcher_words):
        check_memory(request.what, where.ranks)
    with job_folder(launcher, where.launcher_words) as folder:
        output = folder / "measurement.json"
        with open(folder / "printed", "w+", encoding="utf-8", errors="replace") as printed:
            code = start(bench_job(request, output), printed)
            printed.seek(0)
            said = printed.read().strip()
        if code == REFUSED and words_of_peers(said) and not output.exists():
            raise CliError("\n".join(line.removeprefix("bench: ") for line in words_of_peers(said)))
        if not output.exists():
            raise CliError(f"The bench program failed (exit code {code}).\n{said}")
        try:
            measurement = json.loads(output.read_text())
        except ValueError:
            raise CliError(f"The bench program failed (exit code {code}) and left half a result.\n{said}") from None
    if measurement.pop("unfinished", False):
        raise Unfinished(f"The bench program failed (exit code {code}).\n{said}", measurement)
    notes = words_of_peers(said)
    if notes:
        measurement["notes"] = notes
    if request.where.hosts:
        measurement["hosts_of_one_machine"] = True
        measurement["oversubscribed"] = request.where.ranks > core_count()
    return measurement


def measure(request: BenchRequest, machine_name: Optional[str] = None) -> Measurement:
    """Returns what `run_bench` measures, here or on the request's hosts, with machine, date and commit; raises what it raises.

    A measurement that ended too early has the sizes before. It is marked 'stopped' if the user did it, and otherwise 'failed' (a sentence).
    """
    with Interruptions() as interruptions, Starter(request.where.hosts, request.where.ranks, request.where.helpers) as start:
        try:
            measurement = run_bench(request, start)
        except Unfinished as error:
            measurement = error.measurement
            # A job that a signal has ended has not failed.
            measurement.update({"stopped": True} if interruptions.any() else {"failed": str(error)})
        except CliError:
            if interruptions.any():
                raise Stopped("Stopped: nothing is kept.") from None
            raise
    set_aside_not_run(measurement)
    measurement["machine"] = describe_machine(machine_name)
    measurement["date"] = datetime.date.today().isoformat()
    measurement["commit"] = commit()
    return measurement
