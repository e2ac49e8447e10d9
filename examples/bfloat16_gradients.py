#!/usr/bin/env python3
"""Sums of bfloat16, as of gradients in training, through MPI_Allreduce of mpi4py: PyTorch tensors, an operation of crossrail's, any MPI library.

    crossrail run -n 2 -- python3 bfloat16_gradients.py --device cuda --nccl

Prints the median time of a sum, on the slowest rank, by number of elements; with --nccl that of torch.distributed on the same tensors beside it.
Exit status 1 if a sum is wrong. Needs mpi4py and PyTorch.
"""
import argparse
import ctypes
import os
import statistics
import sys
import time

import torch
from mpi4py import MPI

BFLOAT16 = 2  # crossrail_format


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("--device", default="cpu", help="cpu or cuda; ranks take the GPUs in turn")
    add("--nccl", action="store_true", help="measure torch.distributed, too")
    add("--least", type=int, default=1 << 6, help="elements (default 64)")
    add("--most", type=int, default=1 << 26, help="elements (default 64 Mi)")
    return parser.parse_args(argv)


def bfloat16_sum():
    """MPI_SUM of bfloat16, from the library that `crossrail run` has loaded."""
    word = ctypes.c_void_p if MPI._sizeof(MPI.Op) == ctypes.sizeof(ctypes.c_void_p) else ctypes.c_int
    op = MPI.Op()
    library = ctypes.CDLL(None)
    if not hasattr(library, "crossrail_op"):
        sys.exit("crossrail is not loaded: start this with crossrail run")
    code = library.crossrail_op(BFLOAT16, word.from_address(MPI._addressof(MPI.SUM)), ctypes.c_void_p(MPI._addressof(op)))
    if code != MPI.SUCCESS:
        sys.exit("crossrail_op gives no operation")
    return op


class Group:
    """All ranks, and what both ways of summing need."""

    def __init__(self, options):
        self.comm, self.op = MPI.COMM_WORLD, bfloat16_sum()
        self.device = torch.device(options.device)
        if options.device == "cuda":
            self.device = torch.device("cuda", self.comm.rank % torch.cuda.device_count())
            torch.cuda.set_device(self.device)
        if options.nccl:
            os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
            os.environ.setdefault("MASTER_PORT", "29511")
            torch.distributed.init_process_group("nccl", rank=self.comm.rank, world_size=self.comm.size, device_id=self.device)

    def settle(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def by_mpi(self, gradients):
        self.comm.Allreduce(MPI.IN_PLACE, gradients.view(torch.int16), op=self.op)

    def by_nccl(self, gradients):
        torch.distributed.all_reduce(gradients)
        self.settle()

    def right(self, ways, count):
        """Whole numbers that are exact in bfloat16, others in every call."""
        all_right = True
        for _ in range(12):
            for way in ways:
                places = torch.arange(count, device=self.device) % 8
                gradients = (places + self.comm.rank).to(torch.bfloat16)
                self.settle()
                way(gradients)
                wanted = places * self.comm.size + self.comm.size * (self.comm.size - 1) // 2
                all_right = torch.equal(gradients.to(torch.int64), wanted) and all_right  # on to the end: the others sum, too
        return all_right

    def median_us(self, way, count):
        gradients = torch.zeros(count, dtype=torch.bfloat16, device=self.device)
        calls = 200 if count < 1 << 22 else 20
        times = []
        for call in range(calls + 10):
            self.settle()
            self.comm.Barrier()
            began = time.perf_counter()
            way(gradients)
            spent = self.comm.allreduce(time.perf_counter() - began, op=MPI.MAX)
            if call >= 10:
                times.append(spent * 1e6)
        return statistics.median(times)


def main(argv):
    options = parse(argv)
    group = Group(options)
    ways = {"MPI_Allreduce": group.by_mpi, **({"NCCL": group.by_nccl} if options.nccl else {})}
    all_right = True
    count = options.least
    while count <= options.most:
        all_right = group.comm.allreduce(group.right(ways.values(), count), op=MPI.LAND) and all_right
        words = "  ".join(f"{name} {group.median_us(way, count):9.1f} us" for name, way in ways.items())
        if group.comm.rank == 0:
            print(f"{count:>10} bfloat16  {words}", flush=True)
        count *= 4
    if group.comm.rank == 0:
        print("all sums right" if all_right else "WRONG sums")
    if options.nccl:
        torch.distributed.destroy_process_group()
    return 0 if all_right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
