"""MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw by mpi4py on NumPy arrays: several types, in place,
with gaps, subarrays, on other communicators."""
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


def by_counts(comm, kind):
    """Blocks of all lengths, also none, with room between them; then back again in place."""
    counts = [(comm.rank + other) % 4 * 5 for other in range(comm.size)]
    places = [other * 20 for other in range(comm.size)]
    send = np.full(20 * comm.size, -7).astype(kind)
    recv = send.copy()
    wanted = send.copy()
    for other, (count, place) in enumerate(zip(counts, places)):
        send[place:place + count] = numbers(comm.rank, other, count, kind)
        wanted[place:place + count] = numbers(other, comm.rank, count, kind)
    comm.Alltoallv([send, counts, places, None], [recv, counts, places, None])
    if not np.array_equal(recv, wanted):
        sys.exit(f"rank {comm.rank}: Alltoallv of {kind}: {recv} instead of {wanted}")
    comm.Alltoallv(MPI.IN_PLACE, [recv, counts, places, None])
    if not np.array_equal(recv, send):
        sys.exit(f"rank {comm.rank}: Alltoallv of {kind} in place: {recv} instead of {send}")


def share(total, ranks, rank):
    """First and last + 1 of a rank's rows of `total`."""
    return total * rank // ranks, total * (rank + 1) // ranks


def transposed(comm, shape):
    """A matrix shared out by rows becomes one shared out by columns, as parallel FFTs do it."""
    whole = np.arange(shape[0] * shape[1], dtype=float).reshape(shape)
    shares = [[share(length, comm.size, rank) for rank in range(comm.size)] for length in shape]
    rows, columns = shares[0][comm.rank], shares[1][comm.rank]
    send = np.ascontiguousarray(whole[rows[0]:rows[1]])
    recv = np.zeros((shape[0], columns[1] - columns[0]))
    sent = [MPI.DOUBLE.Create_subarray(send.shape, (send.shape[0], last - first), (0, first)).Commit()
            if send.shape[0] * (last - first) else MPI.DOUBLE for first, last in shares[1]]
    received = [MPI.DOUBLE.Create_subarray(recv.shape, (last - first, recv.shape[1]), (first, 0)).Commit()
                if (last - first) * recv.shape[1] else MPI.DOUBLE for first, last in shares[0]]
    out = [int(kind != MPI.DOUBLE) for kind in sent], [0] * comm.size
    into = [int(kind != MPI.DOUBLE) for kind in received], [0] * comm.size
    comm.Alltoallw([send, out, sent], [recv, into, received])
    if not np.array_equal(recv, whole[:, columns[0]:columns[1]]):
        sys.exit(f"rank {comm.rank}: Alltoallw of {shape}: {recv}")
    for kind in sent + received:
        if kind != MPI.DOUBLE:
            kind.Free()


def main():
    world = MPI.COMM_WORLD
    reversed_ranks = world.Split(0, -world.rank)
    for comm in (world, reversed_ranks, MPI.COMM_SELF):
        for count in (1, 10, 3000):
            for kind in (np.int8, np.int32, np.int64, np.float32, np.float64, np.complex128):
                plain(comm, count, kind)
            with_gaps(comm, count)
        for kind in (np.int8, np.int32, np.float64, np.complex128):
            by_counts(comm, kind)
        for shape in ((7, 9), (2, 3), (64, 50)):
            transposed(comm, shape)
    objects = world.alltoall([(world.rank, to) for to in range(world.size)])  # It is pickled.
    if objects != [(sender, world.rank) for sender in range(world.size)]:
        sys.exit(f"objects: {objects}")
    reversed_ranks.Free()
    print("PASS", flush=True)


main()
