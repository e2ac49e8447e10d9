"""However a run with helper processes ends: its exit code is what it would be without them, and nobody is left behind."""

import os
import signal
import time

import pytest

from helped_jobs import HELPED, Run, exit_code, is_native_code, native_code, run, usable

MPIS = ("openmpi4", "mpich4")
WHOLE = ("plain", "seven", "nothing")  # In these ways all ranks come to their end.
# In these ways one rank does. The launcher may end the other as soon as one has left without MPI_Finalize.
ALONE = ("no_finalize", "no_finalize_3")


@pytest.mark.parametrize("helpers", (0, 2))
@pytest.mark.parametrize("way", (*WHOLE, *ALONE, "abort", "killed"))
@pytest.mark.parametrize("name", MPIS)
def test_the_exit_code_is_that_of_the_program(name, way, helpers):
    mpi = usable(name)
    code, said = run(mpi, way, helpers)
    assert is_native_code(name, way, code), said
    assert said.count("PASS") == 2 or way not in WHOLE, said
    assert "PASS" in said or way not in ALONE, said
    assert (HELPED in said) == (helpers > 0 and way != "nothing"), said


def test_the_codes_are_not_all_the_same():
    """What the test above compares with."""
    usable("openmpi4")
    assert [native_code("openmpi4", way) for way in ("plain", "seven", "abort", "killed")] == [0, 7, 5, 137]


def code_after(mpi, helpers, number):
    """The exit code of a run whose processes were sent a signal as a terminal (SIGINT) or a batch system does; nobody is left."""
    with Run(mpi, "wait", helpers) as job:
        job.until_said(b"waiting", 2)
        (os.killpg if number == signal.SIGINT else os.kill)(job.job.pid, number)
        code, said = job.ended()
        assert job.left() == [], said
        return code


@pytest.mark.parametrize("number", (signal.SIGTERM, signal.SIGINT))
@pytest.mark.parametrize("name", MPIS)
def test_signals_end_the_run_as_they_would_without_helpers(name, number):
    mpi = usable(name)
    allowed = {code_after(mpi, None, number)}
    if mpi.flavour == "mpich":
        allowed = {0, int(number)}  # Its launcher's code is either, by chance.
    assert {code_after(mpi, helpers, number) for helpers in (0, 2)} <= allowed


def ranks_end_with_their_launcher(mpi):
    """Whether they do, killed, without crossrail; those of Open MPI 5.0.7 go on."""
    with Run(mpi, "wait", None) as job:
        job.until_said(b"waiting", 2)
        job.job.kill()
        job.job.wait()
        return job.left() == []


@pytest.mark.parametrize("helpers", (0, 2))
@pytest.mark.parametrize("name", MPIS)
def test_where_crossrail_run_is_killed_all_its_processes_end(name, helpers):
    mpi = usable(name)
    with Run(mpi, "wait", helpers) as job:
        job.until_said(b"waiting", 2)
        assert len(job.helpers()) == 2 * helpers
        job.job.kill()
        assert exit_code(job.job.wait()) == 137
        assert job.left() == [] or (helpers == 0 and not ranks_end_with_their_launcher(mpi))


@pytest.mark.parametrize("name", MPIS)
def test_where_a_launcher_of_helpers_is_killed_they_end(name):
    """That is the launcher's process on their node. The program ends with a sentence in its next long call (helpers_killed); here it makes none."""
    mpi = usable(name)
    with Run(mpi, "wait", 1) as job:
        job.until_said(b"waiting", 2)
        helpers = job.helpers()
        parents = {int((process / "stat").read_text().rsplit(")", 1)[1].split()[1]) for process in helpers}
        for parent in parents:
            os.kill(parent, signal.SIGKILL)
        until = time.monotonic() + 10
        while job.helpers() and time.monotonic() < until:
            time.sleep(0.1)
        assert job.helpers() == [] and job.job.poll() is None
        job.job.terminate()
        job.ended()
        assert job.left() == []
