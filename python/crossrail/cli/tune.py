"""`crossrail tune`: a tuning table for this machine or cluster."""

import datetime
import os
import shlex
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from crossrail import core
from crossrail.bench.contenders import NATIVE_LEFT_OUT, default_ranks, native_takes_part
from crossrail.bench.request import BenchRequest, Effort, What, Where, check_seconds, helper_counts
from crossrail.bench.run import Starter
from crossrail.cluster.plan import distribute
from crossrail.collectives import any_of, for_help, names, vector_names
from crossrail.console import out, warn
from crossrail.errors import CliError, Stopped
from crossrail.launchers import MOST_RANKS, core_count
from crossrail.machine.description import describe_machine
from crossrail.outputs import check_files
from crossrail.places import check_flavour
from crossrail.settings_text import check_that_on
from crossrail.sizes import format_size, parse_numbers, parse_size, powers
from crossrail.supervise import Interruptions
from crossrail.tuning.campaign import Campaign, Context, Goal
from crossrail.tuning.candidates import parse_algorithms
from crossrail.tuning.decision import FEWEST_ROUNDS, Range
from crossrail.tuning.launch import JobLaunch
from crossrail.tuning.record import Record
from crossrail.tuning.simulated import LARGEST as SIMULATED_LARGEST
from crossrail.tuning.simulated import PRESET_NODES, SMALLEST, simulate_all
from crossrail.tuning.simulated_options import is_simulated, tuning_of
from crossrail.tuning.simulated_table import conclude
from crossrail.tuning.table import Tuned, older_rows, write_table

TUNE_HELP = """Measure this machine or cluster and write a tuning table for it.

Every algorithm that fits is measured against the native MPI and against what the table in force chooses: in rounds,
taking turns, data checked. A row changes only where the gain is larger than the noise. Nothing is changed here: the
table is a file, which CROSSRAIL_TUNING=FILE puts into force. Stopped by Ctrl-C, it goes on with --resume.
Parameters are tried one at a time, with the values that 'crossrail list' shows, the others as in the table in force.
With --memory cuda the algorithms for device memory are measured, one GPU a rank; native only where the MPI library
is CUDA-aware.
--helpers-per-gpu 0,1,3,7 makes the number of processes that share a rank's long messages between nodes a choice of the table (processes=1, 2, 4 or 8):
all jobs have as many helper processes as the largest number says, of which a contender uses as many as it names; the others sleep.
With --simulate MACHINE nothing is measured and no MPI is needed: the candidates are simulated on numbers of nodes that are not here, and the rows say how
sure they are.

\b
Examples:
  crossrail tune alltoall -n 8
  crossrail tune alltoall --simulate ohio_cluster_a --nodes 17,32,64 --output simulated.csv
  crossrail tune alltoall -n 4,16,56 --max 256K --output mine.csv
  crossrail tune alltoallv -n 56 --output mine.csv --resume
  crossrail tune alltoall -H 4 -n 56 --algorithms "pairwise,leader_pipelined,node_leaders throttle=8"
  crossrail tune alltoall --memory cuda --output mine.csv
  crossrail tune allreduce --memory cuda -H 2 -n 2 --min 64K --max 64M --helpers-per-gpu 0,1,3,7 --rounds 3
  crossrail tune alltoall -n 112 --launcher mpirun -- --hostfile hosts --bind-to core

The exit code is 1 when an algorithm had to be left out because its data were wrong or its job failed.
"""

LARGEST = {"host": "1M", "device": "16M"}
DEVICE_PRESETS = {"CROSSRAIL_DEVICES": "1", "CROSSRAIL_RESIDENT": "0"}


@dataclass
class TuneRequest:
    """What the user asked for: the bench request of all jobs, the numbers of ranks, sizes in bytes, the files.

    `native`: whether it can be measured. `helpers`: the numbers of helper processes beside a rank that are tried; none: there are none.
    """

    bench: BenchRequest
    ranks: List[int]
    sizes: List[int]
    rounds: int
    wanted: Optional[List[str]]
    output: Path
    command: str
    native: bool = True
    helpers: Tuple[int, ...] = ()

    @property
    def processes(self) -> Tuple[int, ...]:
        """That share a rank's long messages: it and its helpers."""
        return tuple(number + 1 for number in self.helpers) or (1,)

    @property
    def memory(self) -> str:
        """host or device."""
        return core.memory_kind(self.bench.what.memory)

    @property
    def measurements(self) -> Path:
        """The file that keeps what was measured, beside the table."""
        memory = "" if self.memory == "host" else f".{self.bench.what.memory}"
        return self.output.with_name(f"{self.output.stem}.{self.bench.what.collective}{memory}.measurements.jsonl")


def check(request: TuneRequest) -> None:
    """Raises CliError for what cannot be tuned."""
    known = sorted({row["collective"] for row in core.catalogue() if row["memory"] == request.memory})
    if request.bench.what.collective not in known:
        raise CliError(f"'{request.bench.what.collective}' is not carried in {request.memory} memory; take one of {', '.join(known)}.")
    if min(request.ranks) < 2 or max(request.ranks) > MOST_RANKS:
        raise CliError(f"Tuning needs at least 2 ranks, -n 2, and there are no more than {MOST_RANKS}.")
    if request.bench.where.hosts is not None:
        distribute(min(request.ranks), request.bench.where.hosts)
    if request.rounds < FEWEST_ROUNDS:
        raise CliError(f"Medians need at least {FEWEST_ROUNDS} rounds: --rounds {FEWEST_ROUNDS}.")
    check_that_on("tuned")
    if os.environ.get("CROSSRAIL_NODES"):
        raise CliError("Tuning measures the machine as it is: unset CROSSRAIL_NODES.")
    changed = [name for name, preset in DEVICE_PRESETS.items() if request.memory == "device" and os.environ.get(name, preset) != preset]
    if changed:
        raise CliError(f"A table must hold without settings that change what it says: unset {', '.join(changed)}.")
    check_seconds("--seconds", request.bench.effort.seconds)
    check_flavour(request.bench.where.flavour)
    check_files(request.output, request.measurements)
    older_rows(request.output)


def identity(request: TuneRequest, machine: Dict[str, Any]) -> Dict[str, Any]:
    """What must be the same for a resumed run; ranks, sizes and rounds may grow."""
    what, where = request.bench.what, request.bench.where
    return {"collective": what.collective, "machine": [machine.get("host"), machine.get("cpu")], "hosts": where.hosts,
            "algorithms": request.wanted, "flavour": where.flavour, "launcher": where.launcher, "launcher words": list(where.launcher_words),
            "empty percent": what.empty, **({"helpers": list(request.helpers)} if request.helpers else {}),
            "table in force": os.environ.get("CROSSRAIL_TUNING", ""), **({"native": request.native} if request.memory == "device" else {})}


def progress_bar() -> Progress:
    """A bar with an estimate of the time left."""
    return Progress(TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), console=out)


def run_campaigns(request: TuneRequest, record: Record) -> List[Campaign]:
    """Measures every number of ranks in turn. Raises Stopped when the user stops it; what was measured is kept."""
    campaigns = []
    try:
        with ExitStack() as stack:
            interruptions = stack.enter_context(Interruptions())
            progress = stack.enter_context(progress_bar())
            for ranks in request.ranks:
                bar = progress.add_task(f"{ranks} ranks", total=None)
                helpers = max(request.helpers, default=0)
                with Starter(request.bench.where.hosts, ranks, helpers) as start:
                    bench = replace(request.bench, where=replace(request.bench.where, ranks=ranks, helpers=helpers))
                    launch = JobLaunch(bench, start, interruptions)
                    context = Context(
                        launch, record, warn=warn,
                        progress=lambda done, total, words, bar=bar, ranks=ranks: progress.update(
                            bar, completed=done, total=total, description=f"{ranks} ranks: {words}"))
                    campaign = Campaign(Goal(request.bench.what.collective, ranks, request.sizes, request.rounds, request.wanted,
                                             request.memory, request.native, request.processes), context)
                    campaign.run()
                campaigns.append(campaign)
    except KeyboardInterrupt:
        raise Stopped(f"Stopped. The measurements are kept in {request.measurements}; the same command with --resume goes on.") from None
    return campaigns


def changes_table(decided: List[Tuple[Campaign, List[Range]]]) -> Table:
    """What the tuned table says against the one in force."""
    table = Table()
    for heading in ("ranks", "blocks", "now", "tuned", "gain"):
        table.add_column(heading, justify="right" if heading in ("ranks", "gain") else "left")
    for campaign, ranges in decided:
        layout = campaign.layout
        place = f"{layout.ranks} on {layout.nodes} node{'s' if layout.nodes != 1 else ''}"
        for one in ranges:
            sizes = format_size(one.low) + (f" to {format_size(one.high)}" if one.high > one.low else "")
            changed = one.now != one.winner
            table.add_row(place, sizes, one.now, Text(one.winner, "bold green" if changed else ""),
                          Text(f"{one.gain:.2f} times faster", "green") if changed else "unchanged")
            place = ""
    return table


def comments(request: TuneRequest, machine: Dict[str, Any], campaigns: List[Campaign]) -> List[str]:
    """The head of the table: where it comes from, and how to use it."""
    layouts = ", ".join(f"{one.layout.ranks} on {one.layout.nodes}" for one in campaigns)
    where = f"{machine.get('cpu') or 'unknown processor'}, {machine.get('cores', core_count())} cores, host {machine.get('host', '?')}"
    hosts = [f"The nodes are {request.bench.where.hosts} hosts of a cluster on this one machine."] if request.bench.where.hosts else []
    return [f"Tuning table for crossrail. Put into force by CROSSRAIL_TUNING={shlex.quote(request.output.name)} (with its path).",
            f"Machine: {where}", *hosts,
            f"MPI: {campaigns[0].mpi}",
            *([f"Device memory of {campaigns[0].device}"] if campaigns[0].device else []),
            f"Date: {datetime.date.today().isoformat()}",
            f"Ranks, on nodes: {layouts}; {request.rounds} rounds and {request.rounds} to confirm",
            *([f"Processes a rank, itself and its helpers: {', '.join(map(str, request.processes))}"] if request.helpers else []),
            f"Command: {request.command}"]


def tune(request: TuneRequest, resume: bool) -> bool:
    """Measures, decides, shows and writes. Returns whether every algorithm was right."""
    machine = describe_machine(None)
    record = Record(request.measurements, identity(request, machine), resume)
    campaigns = run_campaigns(request, record)
    decided = [(campaign, campaign.ranges()) for campaign in campaigns]
    out.print(changes_table(decided))
    if all(one.now == one.winner for _, ranges in decided for one in ranges):
        out.print("Nothing to change: no challenger beats the table in force by more than the noise.")
    tuned = [Tuned(request.bench.what.collective, campaign.layout, ranges, campaign.goal.any_size) for campaign, ranges in decided]
    kept = write_table(request.output, comments(request, machine, campaigns), tuned)
    out.print(f"Written to {request.output}" + (f", above what was there before ({kept} row{'s' if kept != 1 else ''})." if kept else "."))
    example = campaigns[0].layout
    start = f"cluster -H {request.bench.where.hosts}" if request.bench.where.hosts else "run"
    start += f" --helpers-per-gpu {max(request.helpers)}" if request.helpers else ""
    table = shlex.quote(str(request.output))
    out.print(f"Use it:   CROSSRAIL_TUNING={table} crossrail {start} -n {example.ranks} -- ./app\n"
              f"Look:     CROSSRAIL_TUNING={table} crossrail explain {request.bench.what.collective} -n {example.ranks} --nodes {example.nodes} --bytes 1K"
              + (f" --mpi {example.mpi}" if example.mpi else "")
              + (f" --memory {request.bench.what.memory}" if request.memory == "device" else ""))
    for campaign in campaigns:
        for spec, why in campaign.disqualified.items():
            out.print(Text(f"Left out, {campaign.layout.ranks} ranks: {spec}: {why}", "bold red"))
    return not any(campaign.disqualified for campaign in campaigns)


def wants_simulation(context: typer.Context) -> bool:
    """Whether --simulate is given. Raises CliError for options that go with one of both ways only."""
    given = {one.name or "": one.opts[-1] for one in context.command.params if getattr(context.get_parameter_source(one.name or ""), "name", "") == "COMMANDLINE"}
    return is_simulated({**given, **({"launcher_words": "What follows --"} if context.obj.launcher else {})})


def tune_by_simulation(values: Dict[str, Any], command: str) -> int:
    """Simulates what the options say, and returns the exit code."""
    tuning = tuning_of(values, command)
    with progress_bar() as progress:
        bar = progress.add_task(f"simulating {tuning.collective}", total=None)
        outcome = simulate_all(tuning, lambda done, total, words: progress.update(bar, completed=done, total=total, description=f"{tuning.collective}: {words}"))
    return conclude(tuning, outcome)


def own_command(parts: Any) -> str:
    """The command as the table repeats it."""
    return shlex.join(["crossrail", "tune", *parts.own, *(["--", *parts.launcher] if parts.launcher else [])])


def check_words(collective: str, memory: str, empty: int) -> None:
    """Raises CliError for a memory that there is not, and for empty blocks where all are equally long."""
    if memory not in ("host", "cuda"):
        raise CliError("The memory is host or cuda.")
    if empty and collective not in vector_names():
        raise CliError(f"All blocks of {collective} are equally long: --empty is for {any_of(vector_names())}.")


def tune_command(
    context: typer.Context,
    collective: str = typer.Argument(..., help=f"The collective: {for_help(names)}.", show_default=False),
    ranks: Optional[str] = typer.Option(None, "-n", "--ranks", help="Numbers of ranks in all, separated by commas: 4,16,56; the cores of this machine (or its GPUs) if not given.", show_default=False),
    hosts: Optional[int] = typer.Option(None, "-H", "--hosts", help="On a cluster of so many hosts that lives on this machine; see 'crossrail cluster --help'.", show_default=False),
    flavour: Optional[str] = typer.Option(None, "--mpi", help="Flavour of MPI: openmpi, mpich or abi; the first one built if not given.", show_default=False),
    launcher: Optional[str] = typer.Option(None, "--launcher", help="mpirun, mpiexec or srun to use.", show_default=False),
    simulate: Optional[str] = typer.Option(None, "--simulate", help="Simulate on this machine file, or one of those that come with crossrail, and measure nothing.", show_default=False),
    nodes: Optional[str] = typer.Option(None, "--nodes", help=f"With --simulate: numbers of nodes; {PRESET_NODES} if not given.", show_default=False),
    ranks_per_node: Optional[str] = typer.Option(None, "--ranks-per-node", help="With --simulate: ranks on each node, one number or several; as the machine file says if not given.", show_default=False),
    smallest: Optional[str] = typer.Option(None, "--min", help=f"Smallest block, from one rank to one other; 1 if not given, with --simulate {SMALLEST}.", show_default=False),
    largest: Optional[str] = typer.Option(None, "--max", help=f"Largest block; 1M if not given, for device memory 16M, with --simulate {SIMULATED_LARGEST}.", show_default=False),
    memory: str = typer.Option("host", "--memory", help="Where the buffers are: host or cuda."),
    native_cuda: Optional[bool] = typer.Option(None, "--native-cuda/--no-native-cuda", help="Whether the MPI library takes device memory; it is asked if not given.", show_default=False),
    algorithms: Optional[str] = typer.Option(None, "--algorithms", help="Only these, separated by commas, with parameters if need be.", show_default=False),
    rounds: int = typer.Option(5, "--rounds", help="Rounds that find the winners; as many confirm them."),
    seconds: float = typer.Option(0.1, "--seconds", help="Time for each contender at each size in a round."),
    empty: int = typer.Option(0, "--empty", min=0, max=100, help=f"Percent of the blocks that are empty ({for_help(vector_names)})."),
    helpers: Optional[str] = typer.Option(None, "--helpers-per-gpu", help="Numbers of helper processes beside each rank that are tried, separated by commas: 0,1,3,7.", show_default=False),
    output: Optional[Path] = typer.Option(None, "--output", help="The table; tuned_HOST.csv if not given.", show_default=False),
    resume: bool = typer.Option(False, "--resume", help="Go on with the measurements kept beside the table."),
) -> None:
    """See TUNE_HELP."""
    command = own_command(context.obj)
    if wants_simulation(context):
        raise typer.Exit(tune_by_simulation(context.params, command))
    check_words(collective, memory, empty)
    bench = BenchRequest(What(collective, memory=memory, empty=empty), Where(0, flavour, launcher, tuple(context.obj.launcher), hosts), Effort(seconds=seconds))
    kind = core.memory_kind(memory)
    sizes = powers(parse_size(smallest or "1"), parse_size(largest or LARGEST[kind]))
    wanted = parse_algorithms(collective, algorithms, kind) if algorithms else None
    request = TuneRequest(bench, parse_numbers(ranks or str(default_ranks(memory)), "4,16,56"), sizes, rounds, wanted,
                          output or Path(f"tuned_{os.uname().nodename}.csv"), command, helpers=tuple(helper_counts(helpers, collective)))
    check(request)
    request = replace(request, native=native_takes_part(bench.what, bench.where, native_cuda))
    if not request.native:
        out.print(Text(NATIVE_LEFT_OUT, "dim"))
    raise typer.Exit(0 if tune(request, resume) else 1)


def register(app: typer.Typer) -> None:
    """Adds the command of this file."""
    app.command("tune", help=TUNE_HELP)(tune_command)
