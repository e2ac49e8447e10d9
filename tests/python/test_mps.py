"""'crossrail run --mps': a daemon of the job's own, which ends with it; nvidia-cuda-mps-control is a script here that notes how it is called."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crossrail import mps
from crossrail.errors import CliError
from crossrail.launchers import Job, Launcher

ROOT = Path(__file__).resolve().parents[2]
# It answers as the real one does: commands fail where no daemon has made its file.
STAND_IN = """#!/bin/sh
note() {{ printf '%s|%s|%s|%s\\n' "$1" "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY" "$CUDA_VISIBLE_DEVICES" >>{calls}; }}
if [ "$1" = -d ]; then
  note -d
  {start}
  : >"$CUDA_MPS_PIPE_DIRECTORY/control"
  sleep 60 & # the daemon keeps what it was given open
  echo $! >{daemon}
  exit 0
fi
read -r command
note "$command"
[ -e "$CUDA_MPS_PIPE_DIRECTORY/control" ] || {{ echo 'Cannot find MPS control daemon process'; exit 1; }}
[ "$command" = quit ] && kill $(cat {daemon})
exit 0
"""


@pytest.fixture
def control(tmp_path, monkeypatch):
    """Puts the script on PATH; `start` is what it does before the daemon is there."""
    def write(start=":"):
        script = tmp_path / "bin" / mps.CONTROL
        script.parent.mkdir(exist_ok=True)
        script.write_text(STAND_IN.format(calls=tmp_path / "calls", daemon=tmp_path / "daemon", start=start))
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    for name in mps.BATCH_JOBS:
        monkeypatch.delenv(name, raising=False)
    write()
    return write


def job(words=(), family="openmpi"):
    return Job(Launcher("/usr/bin/mpirun", family), 2, ["./app"], list(words), {}, "openmpi")


def calls(folder):
    """Command, pipes, logs and CUDA_VISIBLE_DEVICES of each call of the script."""
    return [line.split("|") for line in (folder / "calls").read_text().splitlines()]


def wait_until_quit(folder):
    until = time.monotonic() + 20
    while calls(folder)[-1][0] != "quit" or Path(calls(folder)[0][1]).parent.exists():
        assert time.monotonic() < until, calls(folder)
        time.sleep(0.05)


def test_a_daemon_of_its_own_while_the_job_runs(control, tmp_path):
    one = job()
    with mps.mps_of(one, True):
        pipes, logs = (Path(one.environment[f"CUDA_MPS_{what}_DIRECTORY"]) for what in ("PIPE", "LOG"))
        assert pipes.is_dir() and logs.is_dir() and pipes.parent == logs.parent
        assert pipes.parent.stat().st_mode & 0o777 == 0o700
        assert "CUDA_VISIBLE_DEVICES" not in one.environment
    assert [call[0] for call in calls(tmp_path)] == ["-d", "get_server_list", "quit"]
    assert all(call[1:] == [str(pipes), str(logs), ""] for call in calls(tmp_path)), "GPUs are not counted among those that the daemon sees"
    assert not pipes.parent.exists()


def test_none_where_none_is_asked_for(control, tmp_path):
    one = job()
    with mps.mps_of(one, False):
        assert one.environment == {}
    assert not (tmp_path / "calls").exists()


def test_it_ends_where_the_job_fails(control, tmp_path):
    with pytest.raises(CliError, match="cannot be started"):
        with mps.mps_of(job(), True):
            raise CliError("'./app' cannot be started.")
    assert calls(tmp_path)[-1][0] == "quit" and not Path(calls(tmp_path)[0][1]).exists()


@pytest.mark.parametrize("start, sentence", [
    ("echo 'An instance of this daemon is already running' >&2; exit 1", "does not start: An instance of this daemon is already running. Leave"),
    ("echo 'Failed to start: no device' >\"$CUDA_MPS_LOG_DIRECTORY/control.log\"; exit 1", "does not start: Failed to start: no device. Leave"),
    ("exit 1", "does not start. Leave"),
    ("exit 0", "does not start: Cannot find MPS control daemon process. Leave"),  # The daemon has died since.
])
def test_a_daemon_that_does_not_come_up(control, tmp_path, start, sentence):
    control(start)
    one = job()
    with pytest.raises(CliError, match=sentence):
        with mps.mps_of(one, True):
            pytest.fail("the job was started")
    assert one.environment == {} and not Path(calls(tmp_path)[0][1]).exists()


def test_the_program_is_absent(control, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CliError, match=f"There is no {mps.CONTROL} on PATH"):
        with mps.mps_of(job(), True):
            pass


@pytest.mark.parametrize("words, family, variables, allowed", [
    ([], "openmpi", {}, True),
    (["--host", "localhost:4"], "openmpi", {}, True),
    (["--host", "a:2,b:2"], "openmpi", {}, False),
    (["--hostfile=machines"], "openmpi", {}, False),
    (["-f", "machines"], "hydra", {}, False),
    ([], "srun", {}, False),
    ([], "srun", {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "1"}, True),
    ([], "openmpi", {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "2"}, False),
    ([], "openmpi", {"LSB_JOBID": "7"}, False),
])
def test_one_host_only(control, monkeypatch, words, family, variables, allowed):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    if allowed:
        mps.refuse_several_hosts(job(words, family))
    else:
        with pytest.raises(CliError, match="on this host alone"):
            mps.refuse_several_hosts(job(words, family))


LAUNCHER = """#!/bin/sh
[ "$1" = --version ] && {{ echo 'mpirun (Open MPI) 4.1.4'; exit; }}
printf '%s\\n' "$@" >{folder}/words.part && mv {folder}/words.part {folder}/words
{does}
"""


def run_with(tmp_path, does):
    """`crossrail run --mps` by a launcher that does this."""
    launcher = tmp_path / "mpirun"
    launcher.write_text(LAUNCHER.format(folder=tmp_path, does=does))
    launcher.chmod(0o755)
    (tmp_path / "libraries").mkdir()
    (tmp_path / "libraries/libcrossrail_mpi_openmpi.so").touch()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "CROSSRAIL_LIBRARY_DIR": str(tmp_path / "libraries")}
    words = f"{sys.executable} -m crossrail run --mpi openmpi --launcher {launcher} -n 2 --mps -- /bin/true"
    return subprocess.Popen(shlex.split(words), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)


def test_the_ranks_find_it_and_the_exit_code_is_the_programs(control, tmp_path):
    done = run_with(tmp_path, "exit 7")
    said, _ = done.communicate(timeout=60)
    assert done.returncode == 7, said
    assert f"CUDA_MPS_PIPE_DIRECTORY={calls(tmp_path)[0][1]}" in (tmp_path / "words").read_text().splitlines()
    assert [call[0] for call in calls(tmp_path)] == ["-d", "get_server_list", "quit"]


@pytest.mark.parametrize("number", (signal.SIGTERM, signal.SIGINT, signal.SIGKILL))
def test_it_ends_with_a_run_that_is_ended(control, tmp_path, number):
    running = run_with(tmp_path, "exec sleep 60")
    until = time.monotonic() + 30
    while not (tmp_path / "words").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert calls(tmp_path)[-1][0] == "get_server_list"
    (os.killpg if number == signal.SIGINT else os.kill)(running.pid, number)
    running.communicate(timeout=60)
    wait_until_quit(tmp_path)
    assert [call[0] for call in calls(tmp_path)] == ["-d", "get_server_list", "quit"]
