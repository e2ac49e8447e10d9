"""Fit the numbers of a machine to measured results, and say how far the simulation is from other results.

    bench/fit_machine.py PROGRAM START --fit RESULTS.json ... [--test RESULTS.json ...] [--free KEY,KEY,...] [--rounds N] [--up-to BYTES] [--leave-out]

PROGRAM is crossrail_simulate, and START a file of lines `machine.KEY NUMBER`. The free keys are changed one after the other by factors that become
smaller, as long as the mean error against the measured medians becomes smaller. The fitted lines are printed at the end. With --leave-out each algorithm is
left out of a fit of its own, which then has to say how long it takes.
"""
import argparse
import json
import statistics
import subprocess
import sys
from math import exp, log


def read_machine(path):
    with open(path, encoding="utf-8") as lines:
        return {key: float(value) for key, value in (line.split() for line in lines if line.strip())}


class Results:
    """The measured cells of one results file: {(algorithm, bytes): microseconds}."""

    def __init__(self, path, up_to):
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        self.path, self.nodes, self.ranks_per_node = path, found["nodes"], found["ranks_per_node"]
        self.collective = found["collective"]
        self.cells = {}
        for one in found["results"]:
            if one["algorithm"] == "native" or one["bytes"] > up_to or one["bytes"] % 4 and self.collective != "alltoall":
                continue
            named = "auto" if one["contender"] in ("auto", "crossrail") else one["contender"]
            self.cells[named, one["bytes"]] = one["p50_us"]

    def simulated(self, program, machine):
        """The same cells as the simulation has them."""
        sizes = sorted({size for _, size in self.cells})
        names = list(dict.fromkeys(name for name, _ in self.cells))
        lines = [f"nodes {self.nodes}", f"ranks_per_node {self.ranks_per_node}", f"collective {self.collective}", "calls 2", "check_up_to 0"]
        lines += [f"algorithm {name}" for name in names] + [f"bytes {size}" for size in sizes]
        lines += [f"{key} {value}" for key, value in machine.items()]
        ran = subprocess.run([program], input="\n".join(lines), capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            sys.exit(ran.stderr)
        cells = {}
        for line in ran.stdout.splitlines():
            one = json.loads(line)
            if "time_us" in one:
                cells[one["algorithm"], one["bytes"]] = one["time_us"]
        return {place: cells[place] for place in self.cells if place in cells}


def errors_of(results, program, machine):
    """Return the factors by which the simulation is off, as logarithms, for every cell."""
    return {(one.path, *place): log(time / one.cells[place]) for one in results for place, time in one.simulated(program, machine).items()}


def leave_out(args, machine, results):
    """Print the error of every algorithm in the fit that has not seen it."""
    off = []
    for name in sorted({name for one in results for name, _ in one.cells} - {"auto"}):
        kept = [one.cells for one in results]
        for one in results:
            one.cells = {place: time for place, time in one.cells.items() if place[0] not in (name, "auto")}
        fitted = fit(args, machine, results)
        for one, cells in zip(results, kept):
            one.cells = {place: time for place, time in cells.items() if place[0] == name}
        own = [exp(error) - 1 for error in errors_of(results, args.program, fitted).values()]
        off += own
        for one, cells in zip(results, kept):
            one.cells = cells
        print(f"left out {name:28} median error {statistics.median(map(abs, own)):5.1%}, median {statistics.median(own):+5.1%}, worst {max(own, key=abs):+5.1%}", flush=True)
    print(f"left out, all: median error {statistics.median(map(abs, off)):.1%} of {len(off)} cells")


def objective(errors):
    return statistics.mean(min(abs(error), 1.5) for error in errors.values())


# Values outside of these would fit better now and then, but no such machine exists.
PLAUSIBLE = {"memory.core_bandwidth": (4, 25), "memory.shared_bandwidth": (1.5, 20), "memory.node_bandwidth": (20, 400), "memory.copy": (2, 40),
             "flags.other_core": (40, 600), "flags.look": (5, 150), "calls.enter": (100, 2000)}


def is_plausible(key, value):
    low, high = PLAUSIBLE.get(key.removeprefix("machine."), (0, float("inf")))
    return low <= value <= high


def fit(args, machine, results):
    best = objective(errors_of(results, args.program, machine))
    step = 2.0
    for _ in range(args.rounds):
        improved = False
        for key in args.free.split(","):
            for factor in (step, 1 / step):
                tried = {**machine, key: machine[key] * factor}
                if not is_plausible(key, tried[key]):
                    continue
                found = objective(errors_of(results, args.program, tried))
                if found < best - 1e-5:
                    best, machine, improved = found, tried, True
                    print(f"{best:.4f} {key} {machine[key]:.5g}", file=sys.stderr, flush=True)
        if not improved:
            step = step ** 0.6
            if step < 1.03:
                break
    return machine


def best_three(cells, size):
    return [name for _, name in sorted((time, name) for (name, its), time in cells.items() if its == size and name != "auto")][:3]


def report(results, program, machine):
    for one in results:
        cells = one.simulated(program, machine)
        off = {place: exp(log(time / one.cells[place])) - 1 for place, time in cells.items()}
        names = sorted({name for name, _ in cells})
        print(f"{one.path}: {one.nodes} nodes of {one.ranks_per_node}")
        for name in names:
            own = [off[place] for place in off if place[0] == name]
            print(f"  {name:28} median error {statistics.median(map(abs, own)):5.1%}, median {statistics.median(own):+5.1%}, worst {max(own, key=abs):+5.1%}")
        sizes = sorted({size for _, size in cells})
        if len(names) < 4:
            sizes = []
        same = [best_three(cells, size) == best_three({place: one.cells[place] for place in cells}, size) for size in sizes]
        first = [best_three(cells, size)[:1] == best_three({place: one.cells[place] for place in cells}, size)[:1] for size in sizes]
        print(f"  all: median error {statistics.median(map(abs, off.values())):.1%} of {len(off)} cells; best algorithm right at {sum(first)} of {len(sizes)} sizes, "
              f"order of the best three at {sum(same)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("start")
    parser.add_argument("--fit", nargs="+", default=[])
    parser.add_argument("--test", nargs="+", default=[])
    parser.add_argument("--free", default="")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--leave-out", action="store_true")
    parser.add_argument("--up-to", type=int, default=16384)
    args = parser.parse_args()
    machine = read_machine(args.start)
    fitted = [Results(path, args.up_to) for path in args.fit]
    if args.leave_out:
        leave_out(args, machine, fitted)
        return
    if args.free:
        machine = fit(args, machine, fitted)
    report(fitted + [Results(path, args.up_to) for path in args.test], args.program, machine)
    for key, value in machine.items():
        print(f"{key} {value:.4g}")


if __name__ == "__main__":
    main()
