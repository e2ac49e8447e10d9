"""MPI_Ialltoall, MPI_Ialltoallv and MPI_Ialltoallw by mpi4py on NumPy arrays: several types, in place, many
outstanding, arrays kept alive by their requests only; persistent ones where mpi4py has them (4.0)."""
import sys

import numpy as np
from mpi4py import MPI


def numbers(sender, receiver, count, kind):
    return (np.arange(count) + 1000 * sender + 100 * receiver + 1).astype(kind)


def blocks_to_all(comm, count, kind):
    return np.array([numbers(comm.rank, to, count, kind) for to in range(comm.size)])


def expect(received, comm, count, kind, what):
    for sender in range(comm.size):
        wanted = numbers(sender, comm.rank, count, kind)
        if not np.array_equal(received[sender], wanted):
            sys.exit(f"rank {comm.rank}: {what}: {received[sender]} instead of {wanted}")


def plain(comm, count, kind):
    send = blocks_to_all(comm, count, kind)
    recv = np.zeros_like(send)
    request = comm.Ialltoall(send, recv)
    in_place = send.copy()
    other = comm.Ialltoall(MPI.IN_PLACE, in_place)
    other.Wait()
    while not request.Test():
        pass
    expect(recv, comm, count, kind, f"{count} of {kind}")
    expect(in_place, comm, count, kind, f"{count} of {kind}, in place")


def by_counts(comm, kind):
    """Blocks of all lengths, also none, with room between them."""
    counts = [(comm.rank + other) % 4 * 5 for other in range(comm.size)]
    places = [other * 20 for other in range(comm.size)]
    send = np.full(20 * comm.size, -7).astype(kind)
    recv, wanted = send.copy(), send.copy()
    for other, (count, place) in enumerate(zip(counts, places)):
        send[place:place + count] = numbers(comm.rank, other, count, kind)
        wanted[place:place + count] = numbers(other, comm.rank, count, kind)
    comm.Ialltoallv([send, counts, places, None], [recv, counts, places, None]).Wait()
    if not np.array_equal(recv, wanted):
        sys.exit(f"rank {comm.rank}: Ialltoallv of {kind}: {recv} instead of {wanted}")


def by_types(comm, count):
    """Sent with gaps, received in a row."""
    send = np.full((comm.size, count, 2), -1.0)
    for to in range(comm.size):
        send[to, :, 0] = numbers(comm.rank, to, count, float)
    recv = np.zeros((comm.size, count))
    pairs = MPI.DOUBLE.Create_resized(0, 16).Commit()
    out = [count] * comm.size, [16 * count * to for to in range(comm.size)]
    into = [count] * comm.size, [8 * count * sender for sender in range(comm.size)]
    request = comm.Ialltoallw([send, out, [pairs] * comm.size], [recv, into, [MPI.DOUBLE] * comm.size])
    pairs.Free()
    request.Wait()
    expect(recv, comm, count, float, f"{count} with gaps")


def outstanding(comms):
    pending, arrays = [], []
    for index in range(30):
        comm = comms[index % len(comms)]
        recv = np.zeros((comm.size, index + 1))
        pending.append(comm.Ialltoall(blocks_to_all(comm, index + 1, float), recv))
        arrays.append((comm, recv))
    pending.append(MPI.REQUEST_NULL)
    left = 30
    while left > 0:
        ended = MPI.Request.Waitsome(pending)
        for index in ended:
            comm, recv = arrays[index]
            expect(recv, comm, index + 1, float, f"number {index} of many")
        left -= len(ended)
    if MPI.Request.Waitany(pending) != MPI.UNDEFINED or not MPI.Request.Testall(pending):
        sys.exit("requests are left")


def persistent(comm, count, kind):
    """The same requests twice. mpi4py 3 has none, and mpi4py 4 none under MPIs before MPI 4."""
    send, recv = np.zeros((comm.size, count), kind), np.zeros((comm.size, count), kind)
    counts, places = [count] * comm.size, [count * other for other in range(comm.size)]
    try:
        requests = [comm.Alltoall_init(send, recv),
                    comm.Alltoallv_init([send, counts, places, None], [recv, counts, places, None])]
    except (AttributeError, NotImplementedError):
        return
    for request in requests * 2:
        send[:], recv[:] = blocks_to_all(comm, count, kind), 0
        request.Start()
        request.Wait()
        expect(recv, comm, count, kind, f"{count} of {kind}, persistent")
    for request in requests:
        request.Free()


def main():
    world = MPI.COMM_WORLD
    reversed_ranks = world.Split(0, -world.rank)
    for comm in (world, reversed_ranks, MPI.COMM_SELF):
        for count in (1, 10, 3000):
            for kind in (np.int8, np.int32, np.float64, np.complex128):
                plain(comm, count, kind)
                persistent(comm, count, kind)
            by_types(comm, count)
        for kind in (np.int8, np.int32, np.float64, np.complex128):
            by_counts(comm, kind)
    outstanding([world, reversed_ranks, world.Dup(), MPI.COMM_SELF])
    reversed_ranks.Free()
    print("PASS", flush=True)


main()
