"""These functions find what a bench on device memory has beside crossrail: GPUs, NCCL, and an MPI library that accepts device memory."""

import ctypes
import ctypes.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Optional

from crossrail.launchers import Launcher
from crossrail.nccl import wheel_nccl
from crossrail.places import bench_folders, first_file

NCCL_LIBRARY = "nccl_peers"
NCCL_PEERS = {"alltoall": ("nccl_send_recv", "nccl_alltoall", "nccl_symmetric"), "alltoallv": ("nccl_send_recv_vector",),
              "allreduce": ("nccl_allreduce", "nccl_symmetric_allreduce")}
COPY_ENGINES = "copy_engine_limit"


@dataclass
class Peers:
    """Has contenders for `--peer`, the variables that their ranks need, and a sentence for each that is missing."""

    options: List[str] = field(default_factory=list)
    environment: Dict[str, str] = field(default_factory=dict)
    missing: List[str] = field(default_factory=list)


def gpu_count() -> int:
    """Returns the number of GPUs that the CUDA driver sees in this process, or 0 if there is no driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        count = ctypes.c_int(0)
        return count.value if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 else 0
    except (OSError, AttributeError):
        return 0


def printed_by(words: List[str]) -> str:
    """Returns what a program prints, or '' if it cannot be run."""
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")


def find_nccl() -> Optional[str]:
    """Returns NCCL's library: that of CROSSRAIL_NCCL, of the dynamic loader, or of a Python's nvidia packages."""
    named = os.environ.get("CROSSRAIL_NCCL")
    if named:
        return named
    known = ctypes.util.find_library("nccl")
    if known:
        return known
    pythons = dict.fromkeys([sys.executable, shutil.which("python3")])
    return next(filter(None, (wheel_nccl(python) for python in pythons if python)), None)


def peer_library(name: str, flavour: str) -> Optional[Path]:
    """Returns the library of bench/peers for a flavour of MPI, or None if it is not built."""
    library = f"lib{name}_{flavour}.so"
    return first_file(bench_folders(), library)


def device_peers(collective: str, flavour: str) -> Peers:
    """Returns NCCL's variants and the copy engines' limit, as far as they are available."""
    peers = Peers()
    names = NCCL_PEERS.get(collective)
    if not names:
        peers.missing.append(f"NCCL is not measured: it has no {collective}.")
        return peers
    nccl, library = find_nccl(), peer_library(NCCL_LIBRARY, flavour)
    if library and nccl:
        peers.options += [f"{name}={library}:{name}" for name in names]
        peers.environment.update({"CROSSRAIL_NCCL": nccl} if "/" in nccl else {})  # Otherwise the ranks' loader finds it, too.
    elif library:
        peers.missing.append("NCCL is not measured: no libnccl.so.2 is found; CROSSRAIL_NCCL can name it.")
    else:
        peers.missing.append(f"NCCL is not measured: lib{NCCL_LIBRARY}_{flavour}.so is not built (it needs cuda.h, cudart_static and nccl.h 2.28).")
    limit = peer_library(COPY_ENGINES, flavour)
    if limit and collective == "alltoall":
        peers.options.append(f"{COPY_ENGINES}={limit}:{COPY_ENGINES}")
    return peers


def takes_device_memory(launcher: Launcher) -> bool:
    """Returns whether the MPI library of a launcher says that it is CUDA-aware. Any other library would crash on a device pointer."""
    folders = dict.fromkeys([Path(launcher.path).parent, Path(launcher.path).resolve().parent])
    if launcher.family == "openmpi":
        said = [printed_by([str(folder / "ompi_info"), "--parsable", "--all"]) for folder in folders]
        return any("mpi_built_with_cuda_support:value:true" in text for text in said)
    said = [printed_by([str(folder / "mpichversion")]) for folder in folders]
    return any(re.search(r"--with-cuda(?!=no)\b", text) for text in said)
