"""`crossrail bench` by the number of processes a GPU: with helper processes, on a device that is made of host memory, and the ping-pong."""

import json
import os
import subprocess
import sys

import pytest

from helped_jobs import BUILD, PROGRAMS, SETTINGS, usable

HOST_DEVICE = PROGRAMS / "host_device"
FLAVOURS = {"openmpi4": "openmpi", "mpich4": "mpich"}


def libraries(folder, flavour):
    """A folder with the libraries, the benches, and the device made of host memory in the place of CUDA's."""
    for path in (BUILD / "libcrossrail.so", BUILD / "bench", HOST_DEVICE / "libcuda.so.1", HOST_DEVICE / "libcrossrail_cuda.so",
                 HOST_DEVICE / f"libcrossrail_mpi_{flavour}.so"):
        if not path.exists():
            pytest.skip(f"{path} is not built")
        (folder / path.name).symlink_to(path)
    return folder


def bench(folder, name, words):
    """The exit code, what was said, and the measurement, of a bench of two ranks on two nodes where it is one of a collective; None: there is no measurement."""
    mpi = usable(name)
    device = folder / "device"
    device.mkdir()
    settings = {setting: value for setting, value in SETTINGS.items() if setting not in ("CROSSRAIL_ALLREDUCE", "CROSSRAIL_LOG", "CROSSRAIL_OPEN_AFTER")}
    environment = {**os.environ, **settings, "CROSSRAIL_LIBRARY_DIR": str(libraries(device, mpi.flavour)), "LD_LIBRARY_PATH": str(device)}
    command = [sys.executable, "-m", "crossrail", "bench", *words, "--mpi", mpi.flavour, "--repetitions", "7", "--output", str(folder / "results")]
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    found = [json.loads(path.read_text()) for path in (folder / "results").glob("*.json")] if (folder / "results").exists() else []
    return done.returncode, " ".join(done.stdout.split()), found[0] if found else None


@pytest.mark.parametrize("collective, name", [("allreduce", "openmpi4"), ("allreduce", "mpich4"), ("alltoall", "openmpi4"), ("alltoallv", "openmpi4")])
def test_every_number_is_measured(collective, name, tmp_path):
    words = [collective, "-n", "2", "--memory", "cuda", "--algorithms", "auto", "--helpers-per-gpu", "0,2", "--min", "64K", "--max", "512K", "--html", str(tmp_path / "page.html")]
    code, said, found = bench(tmp_path, name, words)
    assert code == 0 and "Every byte received was checked and right." in said, said
    assert {(one["helpers"], one["bytes"]) for one in found["results"]} == {(count, 64 << 10 << step) for count in (0, 2) for step in range(4)}
    assert found["process_counts"] == [1, 3] and found["device"] == "a device made of host memory"
    assert {one["algorithm"] for one in found["results"] if one["contender"] == "auto"} <= {"multi_lane", "pairwise"}
    assert "Bandwidth of a GPU" in (tmp_path / "page.html").read_text()


def test_an_algorithm_with_so_many_processes(tmp_path):
    words = ["allreduce", "-n", "2", "--memory", "cuda", "--algorithms", "multi_lane processes=2", "--helpers-per-gpu", "1", "--min", "1M", "--max", "1M"]
    code, said, found = bench(tmp_path, "openmpi4", words)
    assert code == 0 and "multi_lane processes=2" in {one["contender"] for one in found["results"]}, said


@pytest.mark.parametrize("memory, contender", [("host", "host"), ("cuda", "staged")])
@pytest.mark.parametrize("name", FLAVOURS)
def test_the_ping_pong(name, memory, contender, tmp_path):
    # MPICH waits without yielding.
    counts, gpus, powers = ((1, 3), 2, range(21)) if name == "openmpi4" else ((1, 2), 1, range(13, 15))
    sizes = ["--min", str(1 << powers[0]), "--max", str(1 << powers[-1])]
    words = ["pingpong", "--memory", memory, "--gpus", str(gpus), "--processes", ",".join(map(str, counts)), *sizes]
    code, said, found = bench(tmp_path, name, [*words, "--csv", str(tmp_path / "rows.csv")])
    assert code == 0 and "Every byte received was checked and right." in said and "3.49 times as fast with 16 processes" in said, said
    assert {(one["processes"], one["bytes"]) for one in found["results"]} == {(count, 1 << power) for count in counts for power in powers}
    assert found["gpus"] == gpus and {one["contender"] for one in found["results"]} == {contender} and all(one["p50_low_us"] for one in found["results"])
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 1 + 2 * len(powers)
    assert memory == "host" or "have buffers of their own" in said


def program(words, processes, library_path=None):
    """The bench program by itself."""
    mpi = usable("openmpi4")
    command = [mpi.launcher, *mpi.launcher_args, "-n", str(processes), str(BUILD / "bench/pingpong_openmpi"), *words]
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **({"LD_LIBRARY_PATH": str(library_path)} if library_path else {})}
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize("words, processes, sentence", [
    (["--processes", "2"], 6, "bench: 3 processes of a node are no whole number of GPUs with 2 each"),
    (["--processes", "1"], 3, "bench: the two nodes have different numbers of processes"),
    ([], 2, "bench: --processes is the number of processes of a GPU, at least 1"),
    (["--processes", "1", "--max-bytes", "4294967296"], 2, "bench: a share is less than 2 GiB"),
    (["--processes", "1", "--min-bytes", "8", "--max-bytes", "4"], 2, "bench: there is no size to measure"),
    (["--processes", "1", "--ranks", "4"], 2, "bench: asked for 4 ranks, the job has 2"),
])
def test_a_job_that_makes_no_sense(words, processes, sentence):
    code, said = program(words, processes)
    assert code == 2 and said.count("bench: ") == 1 and sentence in said, said


def test_without_a_gpu(tmp_path):
    code, said = program(["--processes", "1", "--memory", "cuda"], 2, tmp_path)
    assert (code, said.count("bench: there is no GPU to bench on")) == (2, 1) or code == 0, said  # There may be one.
