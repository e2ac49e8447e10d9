"""Where a command and the job that it starts meet."""

import pytest

from crossrail.job_folder import BATCH_JOBS, job_folder, may_be_elsewhere
from crossrail.launchers import Launcher

MPIRUN, SRUN = Launcher("mpirun", "openmpi"), Launcher("srun", "srun")


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """No batch job, in a folder of its own."""
    for name in BATCH_JOBS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def test_on_this_host_it_is_a_temporary_folder(tmp_path):
    with job_folder(MPIRUN, ["--bind-to", "core"]) as folder:
        assert folder.is_dir() and folder.parent != tmp_path
    assert not folder.exists() and not list(tmp_path.iterdir())


@pytest.mark.parametrize("launcher, words, batch_job", [(SRUN, [], None), (MPIRUN, ["-H", "a,b"], None), (MPIRUN, ["--hostfile=x"], None),
                                                        (MPIRUN, [], "SLURM_JOB_ID"), (MPIRUN, [], "PBS_JOBID")])
def test_where_hosts_may_differ_it_is_in_the_current_one(launcher, words, batch_job, monkeypatch, tmp_path):
    if batch_job:
        monkeypatch.setenv(batch_job, "17")
    assert may_be_elsewhere(launcher, words)
    with job_folder(launcher, words) as folder:
        assert folder.parent == tmp_path and folder.name.startswith(".")
        (folder / "left").write_text("by a process")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_not_taken(monkeypatch, tmp_path):
    monkeypatch.setattr("os.access", lambda *_: False)
    with job_folder(SRUN, []) as folder:
        assert folder.parent != tmp_path
