#!/usr/bin/env python3
"""One call of crossrail's after the other fails, each in a run of its own (fault_shim.c): the run must end, with right data
or with MPI's errors, and leave nothing open that is not open otherwise.

    sweep.py --mpi openmpi4 --kinds system,mpi          every site, for some minutes
    sweep.py --mpi openmpi4 --runs 20                   some of them
"""
import argparse
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "mpi"))
import judge  # noqa: E402
from mpis import all_mpis, launcher_environment  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
RANKS = 3
RUNS_WITHOUT_FAULT = 3


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("--mpi", default="openmpi4")
    add("--build", default=str(ROOT / "build"), help="CMake's folder")
    add("--wheels", help="folder of the unpacked MPI wheels; otherwise wheels in the build folder")
    add("--kinds", default="system,mpi", help="of calls that fail: memory, system, mpi")
    add("--nodes", default="one,0,0,1", help="one, nodes of the ranks, or both: each is a sweep of its own")
    add("--first", type=int, default=10**6, help="only so many sites, from the first on")
    add("--runs", type=int, default=10**6, help="most runs; sites are drawn then")
    add("--seconds", type=float, default=1e9, help="no run begins after so long")
    add("--jobs", type=int, default=1)
    add("--devices", action="store_true", help="blocks of some calls are in the memory of a device made of host memory")
    add("--always", default="", help="functions that fail always, with commas")
    add("--again", action="store_true", help="every later call from the site fails as well")
    add("--seed", type=int, default=int(time.time()))
    return parser.parse_args(argv)


class Sweep:
    def __init__(self, options):
        build = Path(options.build)
        self.options = options
        self.mpi = all_mpis(options.wheels or build / "wheels")[options.mpi]
        programs = build / "tests/mpi/programs"
        self.program = programs / self.mpi.build / "fault_program"
        self.preloads = [] if self.mpi.yields else [str(programs / "yield.so")]
        # The shim is behind crossrail: what that asks for by RTLD_NEXT lies behind the shim as well.
        libraries = programs / "host_device" if options.devices else build
        self.preloads += [str(libraries / f"libcrossrail_mpi_{self.mpi.flavour}.so"), str(programs / "fault_shim.so")]
        self.device = [f"HOST_DEVICE={libraries / 'libcuda.so.1'}"] if options.devices else []
        self.reports = tempfile.TemporaryDirectory(prefix="crossrail.faults.")
        self.lock, self.findings, self.runs, self.errors = threading.Lock(), [], 0, 0

    def run(self, nodes, site, rank):
        settings = [f"LD_PRELOAD={':'.join(self.preloads)}", f"FAULT_KINDS={self.options.kinds}", f"FAULT_AT={site}",
                    f"FAULT_RANK={rank}", f"FAULT_ALWAYS={self.options.always}", "CROSSRAIL_PATIENCE=50", "CROSSRAIL_OPEN_AFTER=0"]
        settings += [f"CROSSRAIL_NODES={nodes}"] if nodes else []
        settings += [*self.device, f"CROSSRAIL_REPORT={self.reports.name}", f"CROSSRAIL_TRACE={self.reports.name}"]
        settings += ["FAULT_AGAIN=1"] if self.options.again else []
        command = [self.mpi.launcher, *self.mpi.launcher_args, "-n", str(RANKS), "env", *settings, str(self.program), "threads"]
        job = subprocess.Popen(command, env=launcher_environment(self.mpi), text=True, stdout=subprocess.PIPE, errors="replace",
                               stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            text, _ = job.communicate(timeout=45)
        except subprocess.TimeoutExpired:
            judge.end_job(job.pid)
            text, _ = job.communicate()
            return text + "\nTIMEOUT", None
        return text, job.returncode

    def complaint(self, text, status, usual):
        ends = re.findall(r"ENDED rank (\d): (\d+) right, (\d+) errors, (\d+) open, (\d+) mapped(.*)", text)
        if "WRONG" in text:
            return "wrong data"
        if "TIMEOUT" in text or "signal 14" in text.lower() or "alarm clock" in text.lower():
            return "hang"
        if len(ends) != RANKS or status != 0:
            return "crash" if re.search("[Ss]egmentation|signal 11|signal 6|terminate called", text) else f"exit status {status}"
        for rank, _, errors, files, mapped, _ in ends:
            self.errors += int(errors) > 0
            if int(files) > usual[0] or int(mapped) > usual[1]:
                return f"rank {rank}: {files} files open, {mapped} segments mapped, not {usual[0]} and {usual[1]}"
        return None

    def try_site(self, nodes, site, rank, usual):
        text, status = self.run(nodes, site, rank)
        wrong = self.complaint(text, status, usual)
        with self.lock:
            self.runs += 1
            if wrong is None:
                return
            failing = (re.findall(r"FAULT \d+: (.*)", text) or ["not reached"])[0]
            said = [line for line in text.splitlines() if line.startswith("crossrail[")][:2]
            self.findings.append((nodes, site, wrong))
            print(f"FINDING: nodes {nodes or 'one'}, rank {rank}, site {site}: {failing}: {wrong} {' | '.join(said)}", flush=True)

    def sweep(self, nodes):
        # This happens several times: communicators that have been freed may close their segments later.
        text, status = "", 0
        for _ in range(RUNS_WITHOUT_FAULT):
            once, ended = self.run(nodes, 0, 0)
            text, status = text + once, status or ended
        ends = re.findall(r"(\d+) open, (\d+) mapped", text)
        counts = [int(count) for count in re.findall(r"SITES rank \d: (\d+)", text)]
        if status != 0 or len(ends) != RUNS_WITHOUT_FAULT * RANKS or not counts:
            print(text)
            self.findings.append((nodes, 0, "goes wrong without any fault"))
            return
        usual = [max(int(end[i]) for end in ends) for i in range(2)]
        print(f"nodes {nodes or 'one'}: {max(counts)} sites of {self.options.kinds}", flush=True)
        draw = random.Random(self.options.seed)
        sites = list(range(1, min(max(counts), self.options.first) + 1))
        if len(sites) > self.options.runs:
            sites = draw.sample(sites, self.options.runs)
        elif self.options.seconds < 1e9:
            draw.shuffle(sites)  # Otherwise only the first ones would ever be tried.
        todo = [(site, draw.randrange(RANKS)) for site in sites]
        workers = [threading.Thread(target=self.work, args=(todo, nodes, usual)) for _ in range(self.options.jobs)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def work(self, todo, nodes, usual):
        while time.time() < self.end:
            with self.lock:
                if not todo:
                    return
                site, rank = todo.pop(0)
            self.try_site(nodes, site, rank, usual)


def main(argv):
    options = parse(argv)
    sweep = Sweep(options)
    if sweep.mpi.absent() or not sweep.program.exists():
        print(f"skipped: {sweep.mpi.absent() or f'{sweep.program} is not built'}")
        return 77
    one, several = re.fullmatch(r"(one)?,?([0-9,]*)", options.nodes).groups()
    print(f"--seed {options.seed}", flush=True)
    sweeps = [""] * bool(one) + [several] * bool(several)
    for nodes in sweeps:
        sweep.end = time.time() + options.seconds / len(sweeps)
        sweep.sweep(nodes)
    print(f"{options.mpi}: {sweep.runs} runs, {sweep.errors} with errors told, {len(sweep.findings)} findings")
    return 1 if sweep.findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
