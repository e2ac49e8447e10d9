"""Helper processes of a job's ranks ('crossrail run --helpers-per-gpu'): jobs of their own, placed as the program is.

Each rank finds one process of every such job on its node, by the key in CROSSRAIL_HELPERS (src/transport/couriers.h). The program's
own job is what it would be without them.
"""

import ctypes
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

MOST = 15  # of a rank
START_S = 60.0
END_S = 5.0
PR_SET_PDEATHSIG = 1


class CourierJob:
    """A started launcher of couriers, one for every rank; `problem` is what it says where it does not come up."""

    def __init__(self, words: List[str], more_environment: Dict[str, str]) -> None:
        self.errors = tempfile.TemporaryFile()
        library = ctypes.CDLL(None, use_errno=True)

        def end_with_parent() -> None:
            """In the child: launchers end their ranks when they are told to end."""
            os.setpgid(0, 0)  # Ctrl-C is for the program
            library.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)

        environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "CROSSRAIL_HELPERS")}
        environment.update(more_environment)
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors,
                                        env=environment, preexec_fn=end_with_parent)

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

    def end(self) -> None:
        """Ends the launcher and, through it, its processes."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.process.poll() is None:
                self.process.send_signal(number)
                try:
                    self.process.wait(END_S)
                except subprocess.TimeoutExpired:
                    continue
        self.process.stdout.close()
        self.errors.close()


# Under Slurm: what srun starts shares processors with the program's step, which would wait for them otherwise. Also that of mpirun.
BESIDE_OTHERS = {"SLURM_OVERLAP": "1"}

# The words that start a job, and variables of its launcher.
Starting = Callable[[Job], Tuple[List[str], Dict[str, str]]]


def starting_here(job: Job) -> Tuple[List[str], Dict[str, str]]:
    """As `crossrail run` starts it."""
    return command_line(job), {}


def start(job: Job, count: int, starting: Starting = starting_here) -> Optional[List[CourierJob]]:
    """Starts `count` courier jobs beside `job` and names them in its environment; None, and a warning, where they do not come up."""
    if ":" in job.program:
        warn("Several programs in one job have no helper processes; they run without them.")
        return None
    program = str(bench_program("courier", job.flavour))
    key = secrets.token_hex(8)
    started: List[CourierJob] = []
    until = time.monotonic() + START_S
    for number in range(count):
        words, variables = starting(Job(job.launcher, job.ranks, [program, key, str(number)], job.launcher_words))
        started.append(CourierJob(words, {**variables, **BESIDE_OTHERS}))
    failed = [one for one in started if not one.wait_until_ready(until)]
    if not failed:
        job.environment["CROSSRAIL_HELPERS"] = f"{key}:{count}"
        return started
    why = failed[0].problem()
    warn(f"The helper processes do not start{': ' + why if why else ''}; the program runs without them.")
    for one in started:
        one.end()
    return None


@contextmanager
def couriers_of(job: Job, count: int, starting: Starting = starting_here) -> Iterator[None]:
    """While it lasts, each rank of the job has `count` helper processes, as far as they can be started; 0: none is."""
    started = start(job, count, starting) if count > 0 else None
    try:
        yield
    finally:
        for one in started or []:
            one.end()
