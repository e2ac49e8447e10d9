"""tests/modules/mps_killed.py by itself: what it makes of a job whose MPS daemon or server it kills. NVIDIA's programs, mpirun and the job are scripts."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

MODULES = Path(__file__).resolve().parents[1] / "modules"
CONTROL = """#!/bin/sh
case $1 in
-d)
  %s
  "$0" stay </dev/null >/dev/null 2>&1 & exit 0 ;;
stay)
  "${0%%control}server" &
  echo $! >"$CUDA_MPS_PIPE_DIRECTORY/server"
  while :; do sleep 0.2; done ;;
esac
read -r command
[ "$command" = get_server_list ] && cat "$CUDA_MPS_PIPE_DIRECTORY/server" 2>/dev/null
exit 0
"""
SERVER = "#!/bin/sh\nwhile :; do sleep 0.2; done\n"
MPIRUN = """#!/bin/sh
while [ $# -gt 0 ]; do
  case $1 in
  -n) ranks=$2; shift 2 ;;
  -x|--mca) shift 2; [ "$1" = 1 ] && shift ;;
  -*) shift ;;
  *) break ;;
  esac
done
rank=0
while [ $rank -lt $ranks ]; do OMPI_COMM_WORLD_RANK=$rank "$@" & all="$all $!"; rank=$((rank + 1)); done
trap 'kill $all; exit 143' TERM
code=0
for one in $all; do wait $one || code=$?; done
exit $code
"""
PROGRAM = """#!/bin/sh
rank=$OMPI_COMM_WORLD_RANK stop=$2 does=$DOES
say() { echo "rank $rank: $1"; }
lives() { [ -r /proc/$server/cmdline ] && [ -n "$(tr -d '\\0' </proc/$server/cmdline)" ]; } 2>/dev/null
[ $does = skip ] && { echo 'skipped: no GPU'; exit 77; }
say "process $$, device 0 of 1"
[ $does = early ] && { say 'WRONG: cudaSetDevice: no'; exit 2; }
while [ ! -s "$CUDA_MPS_PIPE_DIRECTORY/server" ]; do sleep 0.05; done
server=$(cat "$CUDA_MPS_PIPE_DIRECTORY/server")
say 'goes on, MPI_Alltoall by ipc_kernel_push'
trap 'say "has got signal 10 in MPI_Alltoall, round 20; its stack:"' USR1
[ $does = hang ] && while :; do sleep 0.2; done
[ $does = error_of_daemon ] && { sleep 1.5; say 'ended: MPI_Alltoall returns code 16; leaves'; exit 0; }
while lives && [ ! -e "$stop" ]; do sleep 0.05; done
lives && { say 'ended: right, 50 rounds'; exit $CODE; }
case $does$rank in
errors*) say 'ended: cudaMemcpy says cudaErrorMpsRpcFailure, after 30 right rounds; leaves' ;;
aborts0) say 'ended: cudaMemcpy says cudaErrorMpsRpcFailure, after 30 right rounds; MPI_Abort'; exit 1 ;;
silent0) say 'ended: MPI_Alltoall returns code 16; leaves' ;;
wrong*) say 'WRONG: MPI_Alltoall returned without an error, but the data are wrong from byte 3 on, in round 7' ;;
crashes0) say 'ended: MPI_Alltoall returns code 16; leaves' ;;
crashes1) echo 'mpirun noticed that process rank 1 with PID 7 on node a exited on signal 11 (Segmentation fault).' ;;
esac
exit 0
"""
SHORT = "import mps_killed as m, sys; m.BEGIN_S, m.STOP_S, m.BOUND_S, m.PROBE_S, m.GRACE_S = 20.0, 2.0, 4.0, 4.0, 0.5; m.main()"


@pytest.fixture
def run(tmp_path):
    """Runs it on a job that does this; what it says and its exit code."""
    def write(name, text):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)

    def start(does, kill="server", mode="return", **more):
        write("nvidia-cuda-mps-control", CONTROL % more.get("daemon", ":"))
        write("nvidia-cuda-mps-server", SERVER)
        write("mpirun", MPIRUN)
        write("device_mps_killed", PROGRAM)
        environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(MODULES), "DOES": does, "CODE": more.get("code", "0")}
        words = [sys.executable, "-B", "-c", SHORT, "no.so", str(tmp_path / "device_mps_killed"), "--kill", kill, "--mode", mode]
        done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=90, check=False)
        assert not left_behind(tmp_path), f"a process has not been ended: {done.stdout}"
        assert not any(Path(folder).exists() for folder in re.findall(r"/tmp/crossrail\.mps\.\w+", done.stdout)), done.stdout
        return done.stdout, done.returncode
    return start


def left_behind(folder):
    """Processes whose program lies in this folder."""
    found = []
    for one in Path("/proc").iterdir():
        try:
            words = (one / "cmdline").read_bytes() if one.name.isdigit() else b""
        except OSError:
            continue
        if any(word.startswith(str(folder).encode() + b"/") for word in words.split(b"\0")[:2]):
            found.append(words)
    return found


@pytest.mark.parametrize("kill, mode, does, sentence", [
    ("control", "return", "on", "pass: all ranks went on and were right"),
    ("server", "return", "errors", "pass: 2 of 2 ranks met an error"),
    ("both", "pending", "errors", "pass: 2 of 2 ranks met an error"),
    ("both", "abort", "aborts", "pass: 1 of 2 ranks met an error"),
    ("server", "probe", "errors", "pass: CUDA's calls have all returned"),
    ("server", "probe", "hang", "pass: CUDA itself has not returned"),
])
def test_what_passes(run, kill, mode, does, sentence):
    said, code = run(does, kill, mode)
    assert sentence in said.splitlines()[-1] and code == 0, said


@pytest.mark.parametrize("kill, does, sentence", [
    ("server", "hang", "FAIL: still there at kill +4."),
    ("server", "silent", "ranks [1] have not said how they ended, and none has aborted"),
    ("server", "wrong", "the data are wrong from byte 3 on"),
    ("server", "crashes", "exited on signal 11"),
    ("control", "error_of_daemon", "while the server lived, the job has met an error"),
    ("server", "early", "FAIL: the job ended before anything was killed, exit code 2"),
])
def test_what_fails(run, kill, does, sentence):
    said, code = run(does, kill)
    assert sentence in said and "FAIL" in said and code == 1, said


def test_a_hanging_job_says_where(run):
    said, _ = run("hang")
    assert "rank 0 in MPI_Alltoall, rank 1 in MPI_Alltoall" in said and "State" not in said, said


def test_the_exit_code_of_a_job_that_went_on(run):
    said, code = run("on", "control", code="3")
    assert "all was right, but the exit code is 3" in said and code == 1, said


@pytest.mark.parametrize("does, daemon, sentence", [
    ("skip", ":", "skipped: CUDA finds no GPU under the MPS daemon"),
    ("on", "echo 'An instance of this daemon is already running'; exit 1", "skipped: the MPS daemon does not start: An instance"),
])
def test_where_it_cannot_be_tried(run, does, daemon, sentence):
    said, code = run(does, daemon=daemon)
    assert said.splitlines()[-1].startswith(sentence) and code == 77, said
