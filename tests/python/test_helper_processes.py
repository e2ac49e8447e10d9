"""Jobs of helper processes: started before the program, ended after it; without them where they do not come up."""

from pathlib import Path

import pytest

from crossrail import helper_processes
from crossrail.launchers import Job, Launcher

READY = "echo $$ >>{folder}/started; echo $SLURM_OVERLAP >>{folder}/overlap; printf '%s\n' \"$*\" >>{folder}/words; echo ready; exec sleep 60"


@pytest.fixture
def job(tmp_path, monkeypatch):
    """A job whose launcher is a script; its text is to be written by the test with `launcher_does`."""
    monkeypatch.setattr(helper_processes, "bench_program", lambda name, flavour: tmp_path / f"{name}_{flavour}")
    return Job(Launcher(str(tmp_path / "mpirun"), "openmpi"), 4, ["./app", "x"], ["--host", "a:2,b:2"], {"LD_PRELOAD": "theirs.so"}, "openmpi")


def launcher_does(folder, text):
    script = folder / "mpirun"
    script.write_text("#!/bin/sh\n" + text.format(folder=folder) + "\n")
    script.chmod(0o755)


def lives(process):
    """Whether it runs: not ended, nor waiting for its parent to look."""
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def test_as_many_jobs_as_asked_for_placed_as_the_program_is(job, tmp_path):
    launcher_does(tmp_path, READY)
    with helper_processes.helpers_of(job, 3):
        key, count = job.environment["CROSSRAIL_HELPERS"].split(":")
        assert len(key) == 16 and count == "3"
        started = list(map(int, (tmp_path / "started").read_text().split()))
        assert len(started) == 3 and all(lives(process) for process in started)
        words = sorted((tmp_path / "words").read_text().splitlines())
        assert [line.split()[-1] for line in words] == ["0", "1", "2"]
        for line in words:
            assert line.startswith("-n 4") and "--host a:2,b:2" in line and f"helper_openmpi {key}" in line
            assert "LD_PRELOAD" not in line and "./app" not in line
    assert not any(lives(process) for process in started)


def test_the_first_is_ready_before_others_are_started(job, tmp_path):
    launcher_does(tmp_path, "echo begins >>{folder}/order; sleep 0.3; echo ready >>{folder}/order; " + READY)
    with helper_processes.helpers_of(job, 3):
        order = (tmp_path / "order").read_text().split()
    assert order[:4] == ["begins", "ready", "begins", "begins"]


def test_none_where_none_is_asked_for(job):
    with helper_processes.helpers_of(job, 0):
        assert "CROSSRAIL_HELPERS" not in job.environment


def test_the_program_runs_without_them_where_they_do_not_start(job, tmp_path, capsys):
    launcher_does(tmp_path, "echo '-----' >&2; echo 'There are not enough slots.' >&2; exit 1")
    with helper_processes.helpers_of(job, 2):
        assert "CROSSRAIL_HELPERS" not in job.environment
    assert "do not start: There are not enough slots." in " ".join(capsys.readouterr().err.split())


def test_those_that_never_get_ready_are_given_up(job, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(helper_processes, "START_S", 0.3)
    launcher_does(tmp_path, READY.replace("echo ready", "true"))
    with helper_processes.helpers_of(job, 1):
        assert "CROSSRAIL_HELPERS" not in job.environment
    assert "runs without them" in " ".join(capsys.readouterr().err.split())
    assert not any(lives(process) for process in map(int, (tmp_path / "started").read_text().split()))


def test_several_programs_have_none(job, capsys):
    job.program += [":", "-n", "1", "./other"]
    with helper_processes.helpers_of(job, 2):
        assert "CROSSRAIL_HELPERS" not in job.environment
    assert "Several programs" in capsys.readouterr().err


def test_steps_of_slurm_share_the_nodes(job, tmp_path):
    launcher_does(tmp_path, READY)
    job.launcher.family = "srun"
    with helper_processes.helpers_of(job, 1):
        assert (tmp_path / "overlap").read_text() == "1\n"


def test_all_are_ended_at_a_time(job, tmp_path):
    heard = "echo hears >>" + str(tmp_path / "order") + "; sleep 0.5; echo ends >>" + str(tmp_path / "order") + "; exit"
    launcher_does(tmp_path, f"trap '{heard}' TERM; " + READY.replace("exec sleep 60", "while :; do sleep 0.05; done"))
    with helper_processes.helpers_of(job, 4):
        pass
    assert (tmp_path / "order").read_text().split() == ["hears"] * 4 + ["ends"] * 4
    assert not any(lives(process) for process in map(int, (tmp_path / "started").read_text().split()))


def test_those_that_do_not_heed_are_killed(job, tmp_path, monkeypatch):
    monkeypatch.setattr(helper_processes, "END_S", 0.3)
    launcher_does(tmp_path, "trap '' TERM; " + READY.replace("exec sleep 60", "while :; do sleep 0.05; done"))
    with helper_processes.helpers_of(job, 2):
        pass
    assert not any(lives(process) for process in map(int, (tmp_path / "started").read_text().split()))
