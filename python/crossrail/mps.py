"""An MPS daemon of a job's own ('crossrail run --mps'): processes that share a GPU then use it at the same time.

It has its pipes and logs in a private folder, and ends with the job, however that ends: a shell beside it waits for the end of its
input, which is that of this process, and then tells the daemon to quit.
"""

import os
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Sequence

from crossrail.console import warn
from crossrail.errors import CliError
from crossrail.job_folder import BATCH_JOBS, NAMING_HOSTS
from crossrail.launchers import Job

CONTROL = "nvidia-cuda-mps-control"
ANSWER_S = 20.0
END_S = 30.0
ENDING = 'cat >/dev/null; echo quit | "$0" >/dev/null 2>&1; rm -rf "$1"'
NOT_FOR_THE_DAEMON = ("LD_PRELOAD", "CUDA_VISIBLE_DEVICES")  # GPUs would be counted among those that it sees


def named_hosts(words: Sequence[str]) -> List[str]:
    """The hosts, or files of hosts, that a launcher's words name."""
    found: List[str] = []
    for word, following in zip(words, [*words[1:], ""]):
        name, equals, value = word.partition("=")
        if name in NAMING_HOSTS:
            found += [host.partition(":")[0] for host in (value if equals else following).split(",")]
    return found


def hosts_of_batch_job() -> Optional[int]:
    """How many hosts the batch job has in which this process runs: 1 where it runs in none; None: not known."""
    if not any(name in os.environ for name in BATCH_JOBS):
        return 1
    if "SLURM_JOB_NUM_NODES" in os.environ:
        return int(os.environ["SLURM_JOB_NUM_NODES"]) if os.environ["SLURM_JOB_NUM_NODES"].isdigit() else None
    try:
        return len(set(Path(os.environ["PBS_NODEFILE"]).read_text().split()))
    except (KeyError, OSError):
        return None


def refuse_several_hosts(job: Job) -> None:
    """Raises CliError for a job that may have processes on other hosts."""
    here = {"localhost", "127.0.0.1", socket.gethostname(), socket.gethostname().partition(".")[0]}
    elsewhere = not set(named_hosts(job.launcher_words)) <= here
    alone = hosts_of_batch_job() == 1 and (job.launcher.family != "srun" or "SLURM_JOB_ID" in os.environ)
    if elsewhere or not alone:
        raise CliError(f"--mps is for jobs on this host alone, since a daemon serves the GPUs of one host: start {CONTROL} on each host instead.")


def control(program: str, environment: Dict[str, str], words: Sequence[str], text: str = "") -> bool:
    """Whether the control program does what it is told by its words or its input. What it says is kept in the folder of logs."""
    with open(Path(environment["CUDA_MPS_LOG_DIRECTORY"]) / "said.log", "ab") as said:
        try:
            # Not by a pipe: the daemon may keep it open.
            done = subprocess.run([program, *words], input=text.encode(), env=environment, stdout=said, stderr=said, timeout=ANSWER_S, check=False,
                                  start_new_session=True)
        except (OSError, subprocess.TimeoutExpired):
            return False
    return done.returncode == 0


def complaint(logs: Path) -> str:
    """The last line of what the daemon has said; empty where it has said nothing."""
    for name in ("said.log", "control.log"):
        try:
            lines = [line.strip() for line in (logs / name).read_text(errors="replace").splitlines() if line.strip()]
        except OSError:
            continue
        if lines:
            return lines[-1]
    return ""


def start(program: str, environment: Dict[str, str]) -> None:
    """Starts the daemon. Raises CliError where it does not come up."""
    if control(program, environment, ["-d"]) and control(program, environment, [], "get_server_list\n"):
        return
    why = complaint(Path(environment["CUDA_MPS_LOG_DIRECTORY"]))
    raise CliError(f"The MPS daemon does not start{': ' + why if why else ''}{'' if why.endswith('.') else '.'} Leave out --mps to run without it.")


@contextmanager
def mps_of(job: Job, wanted: bool) -> Iterator[None]:
    """While it lasts, the job's processes find an MPS daemon of their own, if it is wanted. Raises CliError where there cannot be one."""
    if not wanted:
        yield
        return
    refuse_several_hosts(job)
    program = shutil.which(CONTROL)
    if not program:
        raise CliError(f"There is no {CONTROL} on PATH, which comes with NVIDIA's driver: leave out --mps.")
    folder = Path(tempfile.mkdtemp(prefix="crossrail.mps."))  # nobody else may enter
    places = {"CUDA_MPS_PIPE_DIRECTORY": str(folder / "pipe"), "CUDA_MPS_LOG_DIRECTORY": str(folder / "log")}
    for place in places.values():
        os.mkdir(place)
    environment = {**{name: value for name, value in os.environ.items() if name not in NOT_FOR_THE_DAEMON}, **places}
    ending = subprocess.Popen(["sh", "-c", ENDING, program, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=environment, start_new_session=True)
    try:
        start(program, environment)
        job.environment.update(places)
        yield
    finally:
        ending.stdin.close()
        try:
            ending.wait(END_S)
        except subprocess.TimeoutExpired:
            warn(f"The MPS daemon of {folder} has not ended yet.")
