"""What `crossrail doctor` finds about GPUs, by a driver of the test's own."""

import subprocess
from pathlib import Path

import pytest

from crossrail import core
from crossrail.machine import gpu_health, gpus
from crossrail.machine.finding import NOTE, OK

CARDS = [{"name": "0000:12:00.0", "domain": 0, "bus": "0000:12:00.0", "nearest_nics": ["mlx5_0", "mlx5_1"], "within": "PCI switch"},
         {"name": "0000:22:00.0", "domain": -1, "bus": "0000:22:00.0", "nearest_nics": []}]


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """A function that says how the driver behaves; None: there is none."""
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(tmp_path / "libcuda.so.1"), str(Path(__file__).parent / "driver.c")], check=True)
    monkeypatch.setattr(core, "machine", lambda: {"gpus": CARDS})
    monkeypatch.setattr(gpu_health, "library_folders", lambda: [tmp_path])
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    (tmp_path / gpu_health.MODULE).touch()

    def behave(how):
        monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path if how else tmp_path / "nowhere"))
        monkeypatch.setenv("DRIVER", how or "")
        return tmp_path

    return behave


def lines():
    return [(one.level, one.words) for one in gpu_health.check_gpus()]


def test_gpus_are_told_with_their_adapters_and_neighbours(driver):
    driver("works")
    assert lines() == [
        (OK, "built for CUDA"),
        (OK, "GPU 0: NVIDIA H200 number 0, 64 GiB, 0000:12:00.0, NUMA domain 0, nearest network adapters mlx5_0, mlx5_1 (same PCI switch)"),
        (OK, "GPU 1: NVIDIA H200 number 1, 128 GiB, 0000:22:00.0"),
        (NOTE, "GPU 2: NVIDIA H200 number 2, 192 GiB, 0000:5a:00.0; its compute mode is 'exclusive process'"),
        (NOTE, "GPUs 0 and 2, 1 and 2 cannot reach each other's memory")]


def test_mps_and_a_missing_module_are_told(driver):
    folder = driver("works")
    (folder / "control").touch()
    (folder / gpu_health.MODULE).unlink()
    found = gpu_health.check_gpus()
    assert found[0].level == NOTE and found[0].words.startswith("not built for CUDA") and "left to the MPI library" in found[0].advice
    assert found[-1].words == f"an MPS daemon has its pipes in {folder}"


@pytest.mark.parametrize("how,words", [("fails", "no CUDA-capable device is detected"), ("empty", "there is none"),
                                       ("crashes", "the process that asks it ended with status -6"), ("hangs", "it does not answer within 2 s")])
def test_a_driver_in_trouble_harms_nobody(driver, monkeypatch, how, words):
    driver(how)
    monkeypatch.setattr(gpus, "ANSWER_S", 2.0)
    assert lines() == [(NOTE, f"CUDA's driver shows no GPU: {words}")]


def test_hidden_gpus_are_told(driver, monkeypatch):
    driver("empty")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert gpu_health.check_gpus()[0].advice.startswith("CUDA_VISIBLE_DEVICES is ''.")


def test_a_machine_without_a_driver(driver, monkeypatch):
    driver(None)
    monkeypatch.setattr(gpu_health, "has_nvidia_gpu", lambda: False)
    assert gpus.look().driver is False and lines() == []
    monkeypatch.setattr(gpu_health, "has_nvidia_gpu", lambda: True)
    assert lines() == [(NOTE, "there is an NVIDIA GPU, but no libcuda.so.1")]
    assert "--gpus all" in gpu_health.check_gpus()[0].advice


def test_pairs_that_cannot_reach_each_other_are_counted():
    alone = [gpus.Gpu(f"GPU {number}", "", 0) for number in range(4)]
    assert gpu_health.check_peers(alone)[0].words == "GPUs 0 and 1, 0 and 2, 0 and 3, 1 and 2 and others cannot reach each other's memory"
    both = [gpus.Gpu("", "", 0, reaches=[1]), gpus.Gpu("", "", 0, reaches=[0])]
    assert gpu_health.check_peers(both)[0].level == OK and gpu_health.check_peers(both[:1]) == []
