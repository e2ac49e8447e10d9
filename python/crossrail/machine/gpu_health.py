"""What `crossrail doctor` finds about GPUs: the driver, crossrail's part for it, every GPU, and what they can do with each other."""

import os
from pathlib import Path
from typing import Any, Dict, List

from crossrail import core
from crossrail.errors import CliError
from crossrail.machine.finding import NOTE, OK, Finding
from crossrail.machine.gpus import ONE_PROCESS, PROHIBITED, Gpu, Gpus, look
from crossrail.places import first_file, how_to_get, library_folders
from crossrail.sizes import format_size

MODULE = "libcrossrail_cuda.so"
MPS_FOLDER = "/tmp/nvidia-mps"  # NVIDIA's, where CUDA_MPS_PIPE_DIRECTORY names no other
WITHOUT = "Buffers in GPU memory are then left to the MPI library."


def hwloc_gpus() -> List[Dict[str, Any]]:
    """The GPUs of crossrail_machine; none without hwloc."""
    try:
        return core.machine().get("gpus", [])
    except CliError:
        return []


def has_nvidia_gpu() -> bool:
    """Whether the kernel has NVIDIA's driver, or the bus one of its cards."""
    return Path("/proc/driver/nvidia/version").exists() or any("NVIDIA" in one.get("model", "").upper() for one in hwloc_gpus())


def check_driver(found: Gpus) -> List[Finding]:
    """The driver, where it shows no GPU; nothing on a machine that has none."""
    if found.driver and not found.gpus:
        chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
        why = f"CUDA_VISIBLE_DEVICES is '{chosen}'. " if chosen is not None else ""
        return [Finding(NOTE, f"CUDA's driver shows no GPU: {found.problem or 'there is none'}", why + WITHOUT)]
    if not found.driver and has_nvidia_gpu():
        return [Finding(NOTE, "there is an NVIDIA GPU, but no libcuda.so.1", f"In a container: docker run --gpus all, apptainer run --nv. {WITHOUT}")]
    return []


def check_module() -> Finding:
    """crossrail's part for CUDA."""
    if first_file(library_folders(), MODULE):
        return Finding(OK, "built for CUDA")
    return Finding(NOTE, f"not built for CUDA: {MODULE} is not in {library_folders()[0]}", f"To get it, {how_to_get('with nvcc at hand')}. {WITHOUT}")


def place_words(gpu: Gpu, seen: List[Dict[str, Any]]) -> str:
    """Where a GPU stands, by hwloc: its NUMA domain, and the network adapters nearest to it."""
    here: Dict[str, Any] = next((one for one in seen if one.get("bus") == gpu.bus), {})
    words = f", NUMA domain {here['domain']}" if here.get("domain", -1) >= 0 else ""
    nearest = here.get("nearest_nics", [])
    if nearest:
        words += f", nearest network adapter{'s' if len(nearest) > 1 else ''} {', '.join(nearest)} (same {here['within']})"
    return words


def check_gpu(number: int, gpu: Gpu, seen: List[Dict[str, Any]]) -> Finding:
    """One GPU, and whether ranks may use it."""
    words = f"GPU {number}: {gpu.name}, {format_size(gpu.bytes)}, {gpu.bus}{place_words(gpu, seen)}"
    if gpu.mode == PROHIBITED:
        return Finding(NOTE, f"{words}; its compute mode is 'prohibited'", "No program can use it: nvidia-smi -c DEFAULT.")
    if gpu.mode == ONE_PROCESS:
        return Finding(NOTE, f"{words}; its compute mode is 'exclusive process'", "Ranks that share it need an MPS daemon: crossrail run --mps.")
    return Finding(OK, words)


def check_peers(gpus: List[Gpu]) -> List[Finding]:
    """Which pairs of GPUs cannot reach each other's memory."""
    pairs = [(one, other) for one in range(len(gpus)) for other in range(one) if one not in gpus[other].reaches or other not in gpus[one].reaches]
    if pairs:
        told = ", ".join(f"{other} and {one}" for one, other in sorted(pairs, key=lambda pair: pair[::-1])[:4])
        return [Finding(NOTE, f"GPUs {told}{' and others' if len(pairs) > 4 else ''} cannot reach each other's memory",
                        "Blocks between them go through host memory. 'nvidia-smi topo -p2p r' says why.")]
    return [Finding(OK, "GPUs reach each other's memory")] if len(gpus) > 1 else []


def check_mps() -> List[Finding]:
    """Whether an MPS daemon serves programs started here."""
    folder = os.environ.get("CUDA_MPS_PIPE_DIRECTORY", MPS_FOLDER)
    return [Finding(OK, f"an MPS daemon has its pipes in {folder}")] if (Path(folder) / "control").exists() else []


def check_gpus() -> List[Finding]:
    """All of it; nothing on a machine without a GPU."""
    found = look()
    if not found.gpus:
        return check_driver(found)
    seen = hwloc_gpus()
    each = [check_gpu(number, gpu, seen) for number, gpu in enumerate(found.gpus)]
    return [check_module(), *each, *check_peers(found.gpus), *check_mps()]
