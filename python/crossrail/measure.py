"""Running a bench program under its launcher and reading what it measured."""

import datetime
import json
import socket
import subprocess
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Callable, Dict, List, Optional

from crossrail import core
from crossrail.cluster import Cluster
from crossrail.cluster_launch import run_on
from crossrail.cluster_plan import deal
from crossrail.flavours import find_flavour
from crossrail.launchers import Job, Launcher, command_line, core_count, find_launcher, named_launcher, own_settings, preload_value
from crossrail.measurements import Measurement
from crossrail.places import bench_program, built_flavours, preload_library, source_tree
from crossrail.problem import Problem
from crossrail.supervise import supervise

REFUSED = 2  # exit code of a bench program that cannot do what it is asked, and says why
Start = Callable[[Job, IO[str]], int]  # runs a job, its words into a file; returns the exit code


@dataclass
class BenchRequest:
    """What to measure; sizes in bytes, `algorithms` are contenders, times in seconds; None leaves a number to the bench.

    `peers`: contenders from other libraries, NAME=LIBRARY:SYMBOL.
    `memory`: of the buffers, host or cuda. `step`: from a size to the next, 2 or sqrt2. `environment`: for the ranks.
    `hosts`: on a cluster of so many hosts that lives on this machine. `seconds`: for a contender at one size.
    `most_seconds`: for all; sizes that no time is left for are left out. `empty`: percent of the blocks.
    """

    collective: str
    ranks: int
    flavour: Optional[str] = None
    launcher: Optional[str] = None
    launcher_words: List[str] = field(default_factory=list)
    min_bytes: int = 1
    max_bytes: int = 1 << 20
    algorithms: str = "native,auto"
    repetitions: Optional[int] = None
    hosts: Optional[int] = None
    empty: int = 0
    seconds: Optional[float] = None
    most_seconds: Optional[float] = None
    peers: List[str] = field(default_factory=list)
    memory: str = "host"
    step: Optional[str] = None
    environment: Dict[str, str] = field(default_factory=dict)


class Starter:
    """Starts jobs on this machine, or on a cluster made at the first job; `with` removes the cluster."""

    def __init__(self, hosts: Optional[int], ranks: int) -> None:
        self.dealt = deal(ranks, hosts) if hosts else []
        self.cluster: Optional[Cluster] = None
        self.stack = ExitStack()

    def __enter__(self) -> "Starter":
        return self

    def __exit__(self, *problem) -> None:
        self.stack.__exit__(*problem)
        self.cluster = None

    def __call__(self, job: Job, output: IO[str]) -> int:
        if not self.dealt:
            return supervise(command_line(job), output=output)
        if not self.cluster:
            self.cluster = self.stack.enter_context(Cluster(self.dealt))
        return run_on(self.cluster, job, output=output)


def bench_options(request: BenchRequest) -> List[str]:
    """The options of the bench program that stand for the request's numbers, memory and peers."""
    numbers = {"--repetitions": request.repetitions, "--seconds": request.seconds, "--max-time": request.most_seconds,
               "--empty-percent": request.empty or None, "--step": request.step,
               "--memory": None if request.memory == "host" else request.memory}
    given = [(option, value) for option, value in numbers.items() if value is not None]
    return [word for option, value in [*given, *(("--peer", peer) for peer in request.peers)] for word in (option, str(value))]


def chosen_flavour(flavour: Optional[str]) -> str:
    """The flavour asked for, else the first one built."""
    built = built_flavours()
    return flavour or (built[0] if built else "openmpi")


def chosen_launcher(request: BenchRequest) -> Launcher:
    """The launcher asked for, else the one of the MPI library that the bench program loads."""
    if request.launcher:
        return named_launcher(request.launcher)
    flavour = chosen_flavour(request.flavour)
    found = find_flavour(str(bench_program(request.collective, flavour)))
    return find_launcher(flavour, found.library if found else None)


def bench_job(request: BenchRequest, output: Path) -> Job:
    """The bench program as a job with crossrail preloaded; raises Problem when a part of it is missing."""
    flavour = chosen_flavour(request.flavour)
    program = bench_program(request.collective, flavour)
    words = [str(program), "--min-bytes", str(request.min_bytes), "--max-bytes", str(request.max_bytes),
             "--algorithms", request.algorithms, "--output", str(output), *bench_options(request)]
    environment = {**own_settings(), **request.environment, "LD_PRELOAD": preload_value(preload_library(flavour))}
    return Job(chosen_launcher(request), request.ranks, words, request.launcher_words, environment)


def commit() -> str:
    """The commit of the source tree with '-dirty' where it was changed; the version when installed."""
    tree = source_tree()
    if tree:
        done = subprocess.run(["git", "-C", str(tree), "describe", "--always", "--dirty"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False)
        if done.returncode == 0:
            return done.stdout.decode().strip()
    return core.version()


def processor_name() -> str:
    """The processor as Linux names it, '' where it does not."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def describe_machine(name: Optional[str]) -> Dict[str, Any]:
    """The machine as hwloc sees it, under the user's name for it; host and processor only where hwloc is missing."""
    try:
        machine = core.machine()
    except Problem:
        machine = {"host": socket.gethostname(), "cpu": processor_name()}
    return {**machine, **({"name": name} if name else {})}


def words_of_peers(said: str) -> List[str]:
    """What the bench and its peers have to say on contenders that were left out, each sentence once."""
    lines = [line for line in said.splitlines() if line.startswith(("bench: ", "nccl_alltoall: ", "copy_engine_limit: "))]
    return list(dict.fromkeys(lines))[:10]


def run_bench(request: BenchRequest, start: Start) -> Measurement:
    """Runs the bench by `start` and returns its JSON.

    What the program prints is shown only when it fails, in the Problem raised then: its own sentences where it refuses.
    Wrong data are no failure here: they are counted in the measurement.
    """
    with tempfile.TemporaryDirectory(prefix="crossrail.") as folder:
        output = Path(folder) / "measurement.json"
        with open(Path(folder) / "printed", "w+", encoding="utf-8", errors="replace") as printed:
            code = start(bench_job(request, output), printed)
            printed.seek(0)
            said = printed.read().strip()
        if code == REFUSED and words_of_peers(said) and not output.exists():
            raise Problem("\n".join(line.removeprefix("bench: ") for line in words_of_peers(said)))
        if not output.exists():
            raise Problem(f"The bench program failed (exit code {code}).\n{said}")
        try:
            measurement = json.loads(output.read_text())
        except ValueError:
            raise Problem(f"The bench program failed (exit code {code}) and left half a result.\n{said}") from None
    notes = words_of_peers(said)
    if notes:
        measurement["notes"] = notes
    if request.hosts:
        measurement["hosts_of_one_machine"] = True
        measurement["oversubscribed"] = request.ranks > core_count()
    return measurement


def measure(request: BenchRequest, machine_name: Optional[str] = None) -> Measurement:
    """What `run_bench` measures, here or on the request's hosts, with machine, date and commit; raises what it raises."""
    with Starter(request.hosts, request.ranks) as start:
        measurement = run_bench(request, start)
    measurement["machine"] = describe_machine(machine_name)
    measurement["date"] = datetime.date.today().isoformat()
    measurement["commit"] = commit()
    return measurement
