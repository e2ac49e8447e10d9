"""Runs a scenario of nccl_ranks on GPUs: on_gpus.py LIBRARY NCCL PROGRAM SCENARIO RANKS. It exits 77 where there is no GPU."""

import os
import subprocess
import sys
import tempfile

from write_shim import main as write_shim

SKIPPED = 77


def main(library, nccl, program, scenario, ranks):
    """Writes a shim for this NCCL and runs the program with it."""
    nccl = os.path.realpath(nccl)
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    except OSError:
        listed = b""
    gpus = listed.count(b"GPU ")
    if gpus == 0:
        print("skipped: no GPU")
        return SKIPPED
    environment = dict(os.environ)
    if int(ranks) > gpus:
        environment["NCCL_MULTI_RANK_GPU_ENABLE"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        shim = os.path.join(folder, "libnccl.so.2")
        write_shim(library, nccl, shim)
        return subprocess.run([program, shim, scenario, ranks], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
