#!/usr/bin/env python3
"""Random legal MPI programs with crossrail preloaded, until one goes wrong that is right without: it is made as small as
it will go and printed as a C program.

    search.py --mpi mpich4 --minutes 60 --jobs 8
    search.py --mpi openmpi4 --programs 2000 --seed 7
    search.py --mpi openmpi4 --devices simulated --minutes 60     sides in the memory of a device made of host memory
    search.py --mpi openmpi4 --devices gpu --minutes 10           ... of the machine's GPUs
"""
import argparse
import json
import random
import sys
import threading
import time
from pathlib import Path

import devices
from generate import random_program
from running import AVOIDED, Runner

ROOT = Path(__file__).resolve().parents[2]
BATCH = 40
LEVELS = ["single", "single", "serialized", "multiple", "multiple"]


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("--mpi", default="openmpi4")
    add("--devices", choices=["none", "simulated", "gpu"], default="none", help="whose memory calls may be on, beside the host's")
    add("--build", default=str(ROOT / "build"), help="CMake's folder")
    add("--wheels", help="folder of the unpacked MPI wheels; otherwise wheels in the build folder")
    add("--seed", type=int, help="of the first batch; otherwise the time")
    add("--then-now", action="store_true", help="after the first batch, go on from a seed that the time gives")
    add("--programs", type=int, default=10**9)
    add("--minutes", type=float, default=1e9)
    add("--jobs", type=int, default=1, help="batches at the same time")
    add("--ranks", default="2,2,3,4,4,5", help="numbers of ranks, of which every batch takes one")
    add("--seconds", type=int, default=30, help="after which a program hangs")
    add("--findings", default="findings", help="folder for what is found")
    add("--stop", type=int, default=5, help="findings after which the search ends")
    options = parser.parse_args(argv)
    if options.programs == 10**9 and options.minutes == 1e9:
        options.minutes = 1.0
    return options


def batch_of(seed, options):
    """A batch of programs that may run in one job: of one number of ranks, at one level of threads."""
    choice = random.Random(seed)
    ranks = int(choice.choice(options.ranks.split(",")))
    level = choice.choice(LEVELS)
    threads = choice.choice([1, 2, 3]) if level == "multiple" else 1
    avoided = AVOIDED.get(options.mpi, set())
    programs = [random_program(seed * 1000 + i, ranks, avoided, threads) for i in range(min(BATCH, options.programs))]
    if options.devices != "none":
        job = devices.of_batch(choice, ranks)
        programs = [devices.put_on_devices(program, avoided, job) for program in programs]
    return level, programs


class Search:
    def __init__(self, options, runner):
        self.options, self.runner = options, runner
        self.lock = threading.Lock()
        self.next_seed = self.first_seed = options.seed if options.seed is not None else int(time.time()) % 10**8
        self.end = time.time() + 60 * options.minutes
        self.done = self.own_troubles = self.not_again = 0
        self.findings = []
        self.carried, self.native, self.algorithms = {}, {}, {}

    def take_seed(self):
        with self.lock:
            begun = (self.next_seed - self.first_seed) * BATCH
            if time.time() > self.end or begun >= self.options.programs or len(self.findings) >= self.options.stop:
                return None
            seed = self.next_seed
            self.next_seed += 1
            if self.options.then_now and begun == BATCH:
                seed = int(time.time()) % 10**8
                print(f"{self.options.mpi}: now --seed {seed}", flush=True)
            return seed

    def count(self, outcome, programs):
        with self.lock:
            self.done += programs
            for total, some in ((self.carried, outcome.carried), (self.native, outcome.native), (self.algorithms, outcome.algorithms)):
                for name, calls in some.items():
                    total[name] = total.get(name, 0) + calls

    def work(self):
        while (seed := self.take_seed()) is not None:
            level, programs = batch_of(seed, self.options)
            while programs:
                outcome = self.runner.run(programs, level)
                if outcome.right:
                    self.count(outcome, len(programs))
                    break
                seeds = [program["seed"] for program in programs]
                at = seeds.index(outcome.program) if outcome.program in seeds else 0
                self.count(outcome, at + 1)
                self.judge(programs[:at + 1], level, outcome)
                programs = programs[at + 1:]

    def judge(self, programs, level, outcome):
        """The last of these programs went wrong: by whose fault?"""
        last = programs[-1]
        for some in ([last], [last], programs, programs[-5:]):
            again = self.runner.run(some, level)
            if not again.right:
                break
        if again.right:
            some, again = programs, outcome
        if any(not self.runner.run(some, level, carried=False).right for _ in range(3)):
            with self.lock:
                self.own_troubles += 1
            print(f"program {last['seed']} ({outcome.kind}) goes wrong without crossrail, too", flush=True)
            return
        self.keep(some, level, again, outcome)

    def keep(self, programs, level, outcome, first):
        folder = Path(self.options.findings)
        folder.mkdir(parents=True, exist_ok=True)
        seed = programs[-1]["seed"]
        path = folder / f"{self.options.mpi}.{seed}.json"
        path.write_text(json.dumps({"mpi": self.options.mpi, "devices": self.options.devices, "level": level, "programs": programs, "kind": outcome.kind}))
        path.with_suffix(".txt").write_text(first.text + "\n=== again ===\n" + outcome.text)
        said = [line for line in outcome.text.splitlines() if "WRONG" in line or "HANG" in line or "crossrail" in line][:8]
        with self.lock:
            self.findings.append(seed)
        print(f"FINDING: program {seed}, {programs[-1]['ranks']} ranks, {level}: {outcome.kind}; "
              f"make it small by shrink.py {path}\n  " + "\n  ".join(said), flush=True)

    def summary(self):
        def listed(calls):
            return ", ".join(f"{name} {count}" for name, count in sorted(calls.items()) if count)
        print(f"{self.options.mpi}: {self.done} programs from seed {self.first_seed}; {len(self.findings)} findings; "
              f"{self.own_troubles} went wrong without crossrail, too")
        print(f"  calls carried, on all ranks: {listed(self.carried)}\n  calls native: {listed(self.native)}")
        if self.options.devices != "none":
            print(f"  by algorithm: {listed(self.algorithms)}")


def main(argv):
    options = parse(argv)
    runner = Runner(options)
    if runner.absent():
        print(f"skipped: {runner.absent()}")
        return 77
    search = Search(options, runner)
    print(f"{options.mpi}: --seed {search.first_seed}", flush=True)
    workers = [threading.Thread(target=search.work) for _ in range(options.jobs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    search.summary()
    if options.devices != "none" and not search.findings and not devices.ON_DEVICES & set(search.algorithms):
        print("no call was carried on a device: is the module beside the library?")
        return 1
    return 1 if search.findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
