"""Bench programs on a device that is made of host memory, with the options that are about devices: every call on another slice of one allocation, and
beside a kernel of the bench's own. Their times mean nothing there; the data are checked."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from crossrail.launchers import Job, Launcher, command_line

BUILD = Path(os.environ.get("CROSSRAIL_BUILD", "/nothing"))
HOST_DEVICE = BUILD / "tests/mpi/programs/host_device"


def run(tmp_path, program, *words):
    """Its exit code, its words, its JSON, of 2 ranks with crossrail."""
    needed = [BUILD / "bench" / program, *(HOST_DEVICE / name for name in ("libcuda.so.1", "libcrossrail_cuda.so", "libcrossrail_mpi_openmpi.so"))]
    if not shutil.which("mpirun.openmpi") or not all(path.exists() for path in needed):
        pytest.skip("needs Open MPI, and CROSSRAIL_BUILD with benches and the device of the MPI tests")
    output = tmp_path / "measured.json"
    environment = {"LD_PRELOAD": str(needed[-1]), "LD_LIBRARY_PATH": str(HOST_DEVICE)}
    options = ["--memory", "cuda", "--min-bytes", "1024", "--max-bytes", "65536", "--repetitions", "7", "--output", str(output), *words]
    job = Job(Launcher(shutil.which("mpirun.openmpi"), "openmpi"), 2, [str(needed[0]), *options], [], environment)
    done = subprocess.run(command_line(job), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
    return done.returncode, done.stdout.decode(), json.loads(output.read_text()) if output.exists() else None


@pytest.mark.parametrize("program, words", [("alltoall_openmpi", []), ("alltoallv_openmpi", ["--counts", "zipf"]), ("allreduce_openmpi", []),
                                            ("alltoall_openmpi", ["--form", "nonblocking"]), ("alltoall_openmpi", ["--form", "persistent"])])
def test_slices_beside_a_kernel(tmp_path, program, words):
    code, said, measured = run(tmp_path, program, "--slices", "--beside", *words)
    assert code == 0 and "a device made of host memory, slices of one allocation, beside a kernel" in said, said
    assert measured["slices"] and measured["beside"] and measured["rotating_buffers"] == 1
    assert len(measured["results"]) == 7 and all(one["wrong"] == 0 for one in measured["results"])


def test_each_by_itself(tmp_path):
    code, said, measured = run(tmp_path, "alltoall_openmpi", "--slices")
    assert code == 0 and measured["slices"] and "beside" not in measured and "beside" not in said, said
    code, said, measured = run(tmp_path, "alltoall_openmpi", "--beside", "--buffers", "3")
    assert code == 0 and measured["beside"] and "slices" not in measured and "slices" not in said, said
