"""Helper processes of a job's ranks ('crossrail run --helpers-per-gpu'): jobs of their own, placed as the program is.

Each rank finds one process of every such job on its node, by the key in CROSSRAIL_HELPERS (src/transport/helper_processes.h). The program's
own job is what it would be without them.
"""

import os
import secrets
import select
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from typing import Callable, Dict, Iterator, List, Optional, Tuple

from crossrail.console import warn
from crossrail.launchers import Job, command_line
from crossrail.places import bench_program
from crossrail.supervise import ending_with_parent

MOST = 15  # of a rank
START_S = 60.0
END_S = 5.0


class HelperJob:
    """A started launcher of helper processes, one for every rank; `problem` is what it says where it does not come up."""

    def __init__(self, words: List[str], more_environment: Dict[str, str]) -> None:
        self.errors = tempfile.TemporaryFile()
        end_with_parent = ending_with_parent()

        def begin() -> None:
            """In the child."""
            os.setpgid(0, 0)  # Ctrl-C is for the program
            end_with_parent()

        environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "CROSSRAIL_HELPERS")}
        environment.update(more_environment)
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors,
                                        env=environment, preexec_fn=begin)

    def wait_until_ready(self, until: float) -> bool:
        """Whether all of its processes are there before the monotonic time `until`."""
        said = b""
        while b"ready" not in said:
            readable, _, _ = select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))
            more = os.read(self.process.stdout.fileno(), 4096) if readable else b""
            if not more:
                return False
            said += more
        return True

    def problem(self) -> str:
        """The first line of what the launcher complains of, or an empty text."""
        self.errors.seek(0)
        lines = [line.strip() for line in self.errors.read().decode(errors="replace").splitlines()]
        return next((line for line in lines if any(letter.isalnum() for letter in line)), "")

    def ended(self, until: float) -> bool:
        """Whether the launcher ends before the monotonic time `until`."""
        try:
            self.process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        return True


def end(jobs: List[HelperJob]) -> None:
    """Ends the launchers, all at a time, and through them their processes: some take a second or two."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for one in jobs:
            one.process.send_signal(number)  # nothing where it has ended
        until = time.monotonic() + END_S
        if all([one.ended(until) for one in jobs]):
            break
    for one in jobs:
        one.process.stdout.close()
        one.errors.close()


# Under Slurm: what srun starts shares processors with the program's step, which would wait for them otherwise. Also that of mpirun.
BESIDE_OTHERS = {"SLURM_OVERLAP": "1"}

# The words that start a job, and variables of its launcher.
Starting = Callable[[Job], Tuple[List[str], Dict[str, str]]]


def starting_here(job: Job) -> Tuple[List[str], Dict[str, str]]:
    """As `crossrail run` starts it."""
    return command_line(job), {}


def start(job: Job, count: int, starting: Starting = starting_here) -> Optional[List[HelperJob]]:
    """Starts `count` jobs of helper processes beside `job` and names them in its environment; None, and a warning, where they do not come up."""
    if ":" in job.program:
        warn("Several programs in one job have no helper processes; they run without them.")
        return None
    program = str(bench_program("helper", job.flavour))
    key = secrets.token_hex(8)
    started: List[HelperJob] = []
    failed: List[HelperJob] = []
    until = time.monotonic() + START_S
    # One first: launchers of Open MPI 4 that make the folder of all their jobs at the same time may fail in it.
    for numbers in (range(1), range(1, count)):
        for number in numbers:
            words, variables = starting(Job(job.launcher, job.ranks, [program, key, str(number)], job.launcher_words))
            started.append(HelperJob(words, {**variables, **BESIDE_OTHERS}))
        failed = [started[number] for number in numbers if not started[number].wait_until_ready(until)]
        if failed:
            break
    if not failed:
        job.environment["CROSSRAIL_HELPERS"] = f"{key}:{count}"
        return started
    why = failed[0].problem()
    warn(f"The helper processes do not start{': ' + why if why else ''}; the program runs without them.")
    end(started)
    return None


@contextmanager
def helpers_of(job: Job, count: int, starting: Starting = starting_here) -> Iterator[None]:
    """While it lasts, each rank of the job has `count` helper processes, as far as they can be started; 0: none is."""
    started = start(job, count, starting) if count > 0 else None
    try:
        yield
    finally:
        end(started or [])
