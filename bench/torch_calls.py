"""Times torch.distributed's collectives as programs make them, and checks their data.

    torchrun --nproc-per-node 2 bench/torch_calls.py nccl
    crossrail run --nccl -- torchrun --nproc-per-node 2 bench/torch_calls.py crossrail

Prints a line of JSON for each collective and size: microseconds of a call, `row` for 20 calls one after the other until the device is done, `graph`
for the same calls in a graph that is replayed; medians of 15 turns on rank 0. Elements are bfloat16, float32 where they are averaged.
"""

import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist

CALLS, TURNS = 20, 15
SIZES = (1024, 65536, 1 << 20, 16 << 20)
MICROSECONDS = 1e6

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))


def block(value, count, dtype=torch.bfloat16):
    """Returns `count` elements of this value."""
    return torch.full((count,), float(value), device=device, dtype=dtype)


def counted(count, dtype=torch.bfloat16):
    """Returns elements that differ, small enough for their sums to be exact."""
    return torch.arange(count, device=device).remainder(16).to(dtype)


def all_reduce(count):
    """Sums in place."""
    data, out = counted(count) + rank, torch.empty(count, device=device, dtype=torch.bfloat16)
    return lambda: dist.all_reduce(out), lambda: out.copy_(data), out, counted(count) * size + sum(range(size))


def all_reduce_avg(count):
    """Averages in place."""
    count //= 2
    data, out = counted(count, torch.float32) + rank, torch.empty(count, device=device)
    return lambda: dist.all_reduce(out, op=dist.ReduceOp.AVG), lambda: out.copy_(data), out, counted(count, torch.float32) + sum(range(size)) / size


def all_to_all(count):
    """Exchanges equal blocks."""
    data, out = torch.cat([block(16 * rank + peer, count) for peer in range(size)]), block(0, count * size)
    return lambda: dist.all_to_all_single(out, data), out.zero_, out, torch.cat([block(16 * peer + rank, count) for peer in range(size)])


def all_to_all_v(count):
    """Exchanges blocks of one and a half times this length, and of half of it."""
    length = lambda one, other: count + count // 2 if (one + other) % 2 == 0 else max(1, count // 2)
    sent, received = [length(rank, peer) for peer in range(size)], [length(peer, rank) for peer in range(size)]
    data, out = torch.cat([block(16 * rank + peer, sent[peer]) for peer in range(size)]), block(0, sum(received))
    right = torch.cat([block(16 * peer + rank, received[peer]) for peer in range(size)])
    return lambda: dist.all_to_all_single(out, data, received, sent), out.zero_, out, right


def all_gather(count):
    """Gathers equal blocks."""
    data, out = block(rank + 1, count), block(0, count * size)
    return lambda: dist.all_gather_into_tensor(out, data), out.zero_, out, torch.cat([block(peer + 1, count) for peer in range(size)])


def reduce_scatter(count):
    """Sums equal blocks."""
    data, out = counted(count * size) + rank, block(0, count)
    right = counted(count * size)[rank * count : (rank + 1) * count] * size + sum(range(size))
    return lambda: dist.reduce_scatter_tensor(out, data), out.zero_, out, right


def meet():
    """Waits for the device and the other ranks."""
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()


def times_in_a_row(call):
    """Returns the microseconds of a call, one for each turn."""
    times = []
    for _ in range(TURNS):
        meet()
        began = time.perf_counter()
        for _ in range(CALLS):
            call()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - began) / CALLS * MICROSECONDS)
    return times


def times_in_a_graph(call, replays=2):
    """Returns the microseconds of a call in a graph of many, one for each turn."""
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    meet()
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        for _ in range(CALLS):
            call()
    times = []
    for _ in range(TURNS):
        meet()
        began, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        graph.replay()
        began.record()
        for _ in range(replays):
            graph.replay()
        ended.record()
        torch.cuda.synchronize()
        times.append(began.elapsed_time(ended) / (CALLS * replays) * 1e3)
    return times


def measure(collective, size_in_bytes, tag):
    """Measures one collective at one size, and prints a line."""
    call, prepare, out, right = collective(size_in_bytes // 2)
    prepare()
    torch.cuda.synchronize()
    call()
    torch.cuda.synchronize()
    is_right = torch.equal(out, right)
    for _ in range(3):
        call()
    line = {"tag": tag, "call": collective.__name__, "bytes": size_in_bytes, "right": is_right}
    line.update(row=round(statistics.median(times_in_a_row(call)), 1), graph=round(statistics.median(times_in_a_graph(call)), 1))
    if rank == 0 or not is_right:
        print(json.dumps(line), flush=True)


def main(tag):
    """Measures all collectives at all sizes."""
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    for collective in (all_reduce, all_to_all, all_to_all_v, all_gather, reduce_scatter, all_reduce_avg):
        for size_in_bytes in SIZES:
            measure(collective, size_in_bytes, tag)
    meet()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "nccl")
