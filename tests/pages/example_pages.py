"""Pages as the commands write them: from the measurements in bench/results and from made-up ones that are hard to draw."""

import json
from pathlib import Path
from types import SimpleNamespace

from crossrail.bench.measurements import set_aside_not_run
from crossrail.cli.demo import introduction
from crossrail.machine.lstopo import lstopo_picture
from crossrail.report.call_reports import add_up
from crossrail.report.calls_page import render_calls
from crossrail.report.page import render_page
from crossrail.report.replay_tables import replay_html
from crossrail.report.simulation_page import render_simulation

ROOT = Path(__file__).resolve().parents[2]
NAMES = ["native", "auto", "pairwise", "linear", "bruck radix=8", "node_leaders", "leader_pipelined leaders=3 packet=65536", "matrix_block", "scatter_destination",
         "node_single_copy"]


def result(name, size, time, **more):
    """One result of a bench (time in µs), with a spread of a fifth."""
    return {"contender": name, "algorithm": name.split()[0], "bytes": size, "p50_us": time, "p50_low_us": 0.97 * time, "p50_high_us": 1.04 * time,
            "min_us": 0.9 * time, "p99_us": 1.6 * time, "mean_us": 1.05 * time, "max_us": 3 * time, "gb_s": size / time / 1e3, "repetitions": 50, "wrong": 0, **more}


def measurement(results, **more):
    """A measurement of made-up results."""
    return {"collective": "alltoall", "mpi": "Open MPI v4.1.4", "ranks": 56, "nodes": 1, "cores": 64, "checked": True, "date": "2026-11-24", "commit": "",
            "machine": {"host": "h", "cpu": "Intel Xeon,"}, "results": results, **more}


def ten_alike():
    """Ten contenders that end at nearly the same times, so that all names want to stand at one place; one of them ends early."""
    return measurement([result(name, 2**power, (2 + 0.02 * at) * (1 + 2**power / 3000)) for at, name in enumerate(NAMES) for power in range(0, 21)
                        if at != 3 or power < 12])


def twenty():
    """More contenders than there are colours."""
    return measurement([result(name, 2**power, (2 + at) * (1 + 2**power / 3000)) for at, name in enumerate(["native", "auto"] + [f"algorithm_{at}" for at in range(18)])
                        for power in range(0, 24)])


def usual():
    """What `crossrail bench` measures on a small machine: few repetitions, the slowest of them a thousand times slower, times of all lengths."""
    return measurement([result(name, 2**power, time, p99_us=time * (700 if power % 3 == at else 1.3), repetitions=30, algorithm="node_single_copy")
                        for at, name in enumerate(("native", "auto")) for power in range(0, 15) for time in [(0.38 + at / 10) * 2**(power * power / 15)]])


def reduction():
    """Elements instead of blocks; a spread that no axis holds."""
    return measurement([result(name, 2**power, 2.0 + power, **({"p99_us": 1e6} if power == 4 else {})) for name in ("native", "auto", "ring") for power in range(0, 9)],
                       collective="allreduce")


def by_processes():
    """An allreduce of device memory by helper processes against NCCL, and a ping-pong by processes a GPU: the more, the faster, but for short ones."""
    allreduce, ping_pong = [], []
    for power in range(10, 27):
        for count in (1, 2, 4, 8, 16):
            share = 2**power / (2e3 * min(count, max(1, 2**power >> 17)) ** 0.8)
            allreduce.append(result("auto", 2**power, 30 + share, helpers=count - 1, algorithm="multi_lane"))
            allreduce.append(result("nccl_allreduce", 2**power, 80 + 2**power / 2.5e3, helpers=count - 1))
            ping_pong.append(result("staged", 2**power, 18 + 2 * count + share / 2, processes=count, algorithm="host_copies"))
    place = {"memory": "cuda", "device": "NVIDIA H100 80GB HBM3", "driver": "580.1", "nodes": 2, "process_counts": [1, 2, 4, 8, 16]}
    return [measurement(allreduce, **{**place, "collective": "allreduce", "ranks": 2}), measurement(ping_pong, **{**place, "collective": "pingpong", "ranks": 32, "gpus": 1})]


def quartiles(middle, unit):
    """Around a median."""
    return {f"p25_{unit}": 0.9 * middle, f"p50_{unit}": middle, f"p75_{unit}": 1.1 * middle}


def in_parts():
    """Nonblocking calls."""
    parts = ("pure", "start", "wait", "compute", "total", "exposed", "blocking")
    return measurement([result(name, 2**power, 3.0, overlap=quartiles(60 + 10 * at, "percent"), work_us=3.0, **{part: quartiles(3.0, "us") for part in parts})
                        for at, name in enumerate(("native", "auto")) for power in range(0, 12)])


def stored(name):
    """A measurement of bench/results."""
    read = json.loads((ROOT / "bench/results" / f"{name}.json").read_text())
    set_aside_not_run(read)
    return read


def process(rank, algorithm):
    """The report of a process that ran 4 s, as the library writes it."""
    sizes = {str(2**power): 40 * (power + 1) for power in range(0, 21, 2)}
    blocking = {"name": "MPI_Alltoall", "interface": "c", "carried": 3000, "native": 10, "errors": 0, "seconds": 1.5 + 0.5 * rank, "bytes": 1 << 30, "sent_bytes": 1 << 30,
                "histogram": sizes, "algorithms": {algorithm: 3000, "native": 10}, "native_because": {"the first calls of a communicator, which nobody has opened": 10}}
    pending = {**blocking, "name": "MPI_Ialltoall", "seconds": 0.5, "start_seconds": 0.1, "wait_seconds": 0.4, "life_seconds": 2.0}
    reduced = {**blocking, "name": "MPI_Allreduce", "carried": 40, "algorithms": {algorithm: 40}, "native_because": {}}
    compared = [{"collective": "alltoall", "least_bytes": 2**power, "most_bytes": 2**(power + 1), "windows": 3, "given_back": 1, "taken_back": 0,
                 "carried_seconds": 4e-7 * 2**power, "native_seconds": 5e-7 * 2**power} for power in range(0, 21, 5)]
    line = {"part_seconds": 0.1, "carried": [0.003 * (at % 30) for at in range(40)], "native": [0.08 if at < 5 else 0.005 for at in range(40)]}
    return {"rank": rank, "world_size": 3, "host": "a-host-with-a-long-name.of-a-cluster.example", "pid": 10 + rank, "mpi": "Open MPI v4.1.4", "wall_seconds": 4.0,
            "finished": rank == 0, "time_line": line, "calls": [blocking, pending, reduced], "compared": compared}


def replayed():
    """Recorded calls that were replayed seven times natively and with crossrail."""
    turns = [{"inside": [1.4 + at / 10, 0.0072 + at / 1e4, 0.38]} for at in range(7)]
    return {"program": "pw.x", "ranks": 2, "names": ["alltoall", "alltoallv", "allreduce"], "calls": [7718, 50, 1606], "native": turns,
            "crossrail": [{"inside": [value / (3 if place == 1 else 1.02) for place, value in enumerate(turn["inside"])]} for turn in reversed(turns)],
            "outside_seconds": 3.1, "wall_seconds": 4.3, "different": 0, "failed": 0, "checked_calls": 3706, "gaps": True}


def demo():
    """The demo's page."""
    rows = [("last result", "total energy = -63.34474154 Ry", "total energy = -63.34474154 Ry"), ("MPI_Alltoall left native, all ranks", "-", "1 036"), ("its own clock for FFT exchanges (fft_scatt)", "0.190 s (0.181 to 0.202)", "0.170 s (0.166 to 0.175)")]
    subject = SimpleNamespace(title="pw.x of Quantum ESPRESSO: two silicon atoms")
    return render_page("crossrail: the demo", introduction(subject, rows, "All 7 results agree to the last printed digit, in 6 runs.") + replay_html(replayed()), [])


def simulation():
    """Three algorithms on three numbers of nodes, in two cases of a machine; one of them does not fit at large sizes."""
    names, sizes, counts, cases = ["bruck", "leader_pipelined leaders=1", "auto"], [8 << step for step in range(8)], [2, 16, 128], ["favourable", "unfavourable"]
    cells = [(nodes, case, name, size) for nodes in counts for case in cases for size in sizes for name in names if name != "bruck" or size < 512]
    results = [{"nodes": nodes, "case": case, "transport": "ud", "transports": {"rc": 9e9, "ud": 1, "dc": None}, "algorithm": name, "chosen": "leader_pipelined", "bytes": size,
                "time_us": (1 + names.index(name)) * nodes * (5 + size / 20) * (1.4 if case == "unfavourable" else 1), "first_us": 1e4, "checked": size < 65, "sends": 127,
                "queue_pairs": 398272, "sent_bytes": 1 << 30, "staged_bytes": 1 << 30, "node_bytes": 1 << 28, "missed": nodes * 1000, "rank_bytes": 1 << 20}
               for nodes, case, name, size in cells]
    missing = [{"nodes": 128, "case": case, "algorithm": "bruck", "bytes": size, "error": "it needs more node memory than there is"} for case in cases for size in (512, 1024)]
    return {"collective": "alltoall", "date": "2026-11-24", "commit": "abc", "machine": {"name": "A cluster", "about": "It is made up.", "file": "a.toml", "values": {
        "memory.copy": [10, 10], "adapters.cached": [256, 5000]}}, "transport": "best", "cases": cases, "nodes": counts, "ranks_per_node": 56, "algorithms": names, "sizes": sizes,
            "check_up_to": 64, "calls": 2, "placement": "random 1", "results": results, "missing": missing, "stopped": True}


def write_pages(folder):
    """Writes all pages into a folder. Returns the paths."""
    pages = {
        "devices": render_page("crossrail against the best of NCCL", "", [stored("other/alltoall_cuda_2_h200_by_algorithm")], lstopo_picture()),
        "hosts": render_page("crossrail against the native MPI", "", [stored("alltoall_mpich-5.0.2_4_hosts_56_ranks")]),
        "usual": render_page("crossrail against the native MPI", "", [usual()]),
        "reduction": render_page("Elements", "", [reduction()]),
        "processes": render_page("Several processes a GPU", "", by_processes()),
        "alike": render_page("Ten contenders", "", [ten_alike()]),
        "many": render_page("Twenty contenders, one size, wrong data", "", [twenty(), measurement([result(name, 1024, 3.0 + at, wrong=at % 2) for at, name in enumerate(NAMES)])]),
        "parts": render_page("Nonblocking", "", [in_parts()]),
        "demo": demo(),
        "simulation": render_simulation(simulation()),
        "calls": render_calls(add_up([process(0, "node_shared"), process(1, "node_single_copy")])),
    }
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page)
    return [folder / f"{name}.html" for name in pages]
