"""Helper processes that have nothing to do use no processor time, are bound to no core, and may be more than there are cores."""

import os
import subprocess
import sys
import time

import pytest

from helped_jobs import HELPED, SETTINGS, Run, run, usable

MPIS = ("openmpi4", "mpich4")
MOST_TICKS = 2  # The ticks are in a second, and they look about once in that time.


def ticks(process):
    """Processor time of a process, in hundredths of a second."""
    words = (process / "stat").read_text().rsplit(")", 1)[1].split()
    return int(words[11]) + int(words[12])


@pytest.mark.parametrize("way", ("idle", "wait"))
@pytest.mark.parametrize("name", MPIS)
def test_they_sleep(name, way):
    mpi = usable(name)
    with Run(mpi, way, 2) as job:
        job.until_said(b"waiting", 2)
        helpers = job.helpers()
        assert len(helpers) == 4, job.said
        time.sleep(0.5)
        before = [ticks(process) for process in helpers]
        time.sleep(1.0)
        used = [ticks(process) - earlier for process, earlier in zip(helpers, before)]
        assert max(used) <= MOST_TICKS, used
        for process in helpers:
            assert os.sched_getaffinity(int(process.name)) >= os.sched_getaffinity(0), "it is bound to a core"
        job.job.terminate()
        job.ended()
        assert job.left() == []


@pytest.mark.parametrize("name", MPIS)
def test_more_than_useful(name):
    code, said = run(usable(name), "plain", 15)
    assert code == 0 and said.count("PASS") == 2, said
    assert "helper processes: 15 a rank" in said and HELPED in said, said


def test_more_than_there_may_be():
    words = [sys.executable, "-m", "crossrail", "run", "-n", "2", "--helpers-per-gpu", "16", "--", "/bin/true"]
    done = subprocess.run(words, env={**os.environ, **SETTINGS}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "16" in done.stdout and "15" in done.stdout, done.stdout
