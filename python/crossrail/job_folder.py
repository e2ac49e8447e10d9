"""The folder in which the processes of a job and the command that has started it meet."""

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Sequence

from crossrail.launchers import Launcher

# Launchers start processes on other hosts by these words, or since the command stands in a batch job.
NAMING_HOSTS = ("--host", "-host", "-H", "--hostfile", "-hostfile", "-hosts", "--hosts", "-f", "--machinefile", "-machinefile")
BATCH_JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE", "COBALT_JOBID", "FLUX_JOB_ID")


def may_be_elsewhere(launcher: Launcher, words: Sequence[str]) -> bool:
    """Whether this launcher, with these words, may start processes on other hosts."""
    named = any(word.partition("=")[0] in NAMING_HOSTS for word in words)
    return launcher.family == "srun" or named or any(name in os.environ for name in BATCH_JOBS)


@contextmanager
def job_folder(launcher: Launcher, words: Sequence[str]) -> Iterator[Path]:
    """An empty folder, removed afterwards: in the current one, which other hosts mostly see, where processes may be there, else in the
    system's for temporary files, which is a host's own."""
    here = Path.cwd()
    shared = may_be_elsewhere(launcher, words) and os.access(here, os.W_OK)
    folder = Path(tempfile.mkdtemp(prefix=".crossrail." if shared else "crossrail.", dir=here if shared else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
