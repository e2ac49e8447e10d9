"""MPI_Alltoall by mpi4py on NumPy arrays: several types, in place, with gaps, on other communicators."""
import sys

import numpy as np
from mpi4py import MPI


def numbers(sender, receiver, count, kind):
    return (np.arange(count) + 1000 * sender + 100 * receiver + 1).astype(kind)


def expect(received, comm, count, kind, what):
    for sender in range(comm.size):
        wanted = numbers(sender, comm.rank, count, kind)
        if not np.array_equal(received[sender], wanted):
            sys.exit(f"rank {comm.rank}: {what}: {received[sender]} instead of {wanted}")


def plain(comm, count, kind):
    send = np.array([numbers(comm.rank, to, count, kind) for to in range(comm.size)])
    recv = np.zeros_like(send)
    comm.Alltoall(send, recv)
    expect(recv, comm, count, kind, f"{count} of {kind}")
    comm.Alltoall(MPI.IN_PLACE, send)
    expect(send, comm, count, kind, f"{count} of {kind}, in place")


def with_gaps(comm, count):
    send = np.full((comm.size, count, 2), -1.0)
    for to in range(comm.size):
        send[to, :, 0] = numbers(comm.rank, to, count, float)
    pairs = MPI.DOUBLE.Create_resized(0, 16).Commit()
    recv = np.zeros((comm.size, count))
    comm.Alltoall([send, count, pairs], [recv, count, MPI.DOUBLE])
    pairs.Free()
    expect(recv, comm, count, float, f"{count} with gaps")


def main():
    world = MPI.COMM_WORLD
    reversed_ranks = world.Split(0, -world.rank)
    for comm in (world, reversed_ranks, MPI.COMM_SELF):
        for count in (1, 10, 3000):
            for kind in (np.int8, np.int32, np.int64, np.float32, np.float64, np.complex128):
                plain(comm, count, kind)
            with_gaps(comm, count)
    objects = world.alltoall([(world.rank, to) for to in range(world.size)])  # pickled
    if objects != [(sender, world.rank) for sender in range(world.size)]:
        sys.exit(f"objects: {objects}")
    reversed_ranks.Free()
    print("PASS", flush=True)


main()
