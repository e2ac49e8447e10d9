#!/usr/bin/env python3
"""Runs many cases, each as run_mpi.py would run it by itself, in one MPI job (many_cases.c), and judges each.

    run_cases.py --mpi openmpi4 -n 4 --level 0 --cases FILE --programs FOLDER --libraries FOLDER --wheels FOLDER [--only REGEX]

A line of FILE is a case: its name, the options of run_mpi.py and the program with its arguments, with tabs between them. A case in which
the job ends, or which does not end in time, has failed, and those behind it run in a further job. Cases that are to be compared with
the same calls without crossrail run once more, in a job of their own. Exit status: 0 all are as expected, 1 not, 77 cannot be tried here.
"""
import argparse
import functools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import judge
import run_mpi
from mpis import all_mpis, launcher_environment

TREE = Path(__file__).resolve().parents[2]
POLL_SECONDS = 0.05


@dataclass
class Case:
    name: str
    options: argparse.Namespace


@functools.lru_cache(maxsize=None)
def presets():
    """The value of each setting where nobody has given it one."""
    found = {"CROSSRAIL_OPEN_AFTER": "0"}  # The test is about crossrail.
    for file, row in (("base/settings.def", r'^SETTING\(\w+, "(\w+)", \w+, ("[^"]*"|\w+),'), ("collectives/collectives.def", r'^COLLECTIVE\(\w+, \w+, \w+, "(\w+)"()')):
        for variable, value in re.findall(row, (TREE / "src" / file).read_text(), re.M):
            found.setdefault(variable, value.strip('"'))
    return found


def read_cases(options):
    cases = []
    common = ["--mpi", options.mpi, "-n", str(options.n), "--programs", options.programs, "--libraries", options.libraries, "--wheels", options.wheels]
    for line in Path(options.cases).read_text().splitlines():
        name, *words = line.split("\t")
        if not options.only or re.search(options.only, name):
            cases.append(Case(name, run_mpi.parse(common + words)))
    return cases


def case_line(case, settings, folder):
    """For many_cases: what some case of the job sets, every case sets, to its own value or to the preset."""
    own = dict(one.split("=", 1) for one in case.options.set)
    its = [f"{variable}={own.get(variable, presets()[variable])}" for variable in settings]
    return "\t".join([str(folder / f"{case.options.program}.case.so"), *its, "--", *case.options.arguments])


class Job:
    """One run of cases[first:], in a folder of its own."""

    def __init__(self, cases, first, ours):
        self.cases, self.first, self.ours = cases, first, ours
        self.folder = tempfile.TemporaryDirectory(prefix="crossrail_test_cases.", ignore_cleanup_errors=True)
        self.path = Path(self.folder.name)
        self.exit = None
        self.timed_out = False

    def command(self, mpi, level):
        options = self.cases[0].options
        its = argparse.Namespace(**vars(options))
        settings = sorted({one.split("=", 1)[0] for case in self.cases for one in case.options.set if is_setting(one)})
        programs = Path(options.programs) / mpi.build
        (self.path / "cases").write_text("".join(case_line(case, settings, programs) + "\n" for case in self.cases))
        its.set = [one for one in options.set if not is_setting(one)]
        its.told = []
        its.program, its.arguments = "many_cases", [str(self.path), str(level), str(self.first)]
        return run_mpi.command_line(mpi, its, mpi.flavour if self.ours else "none", str(self.path))

    def progress(self):
        """Of each rank, the cases that it has begun and what those that have ended returned; how many ranks have done all."""
        begun, ended, done = {}, {}, 0
        for rank in range(self.cases[0].options.n):
            file = self.path / f"{rank}.progress"
            begun[rank], ended[rank] = -1, {}
            for line in file.read_text().splitlines() if file.exists() else []:
                what, index, *code = line.split()
                if what == "begin":
                    begun[rank] = int(index)
                elif what == "end":
                    ended[rank][int(index)] = int(code[0])
                else:
                    done += 1
        return begun, ended, done

    def run(self, mpi, level):
        """Waits for the end of the job; a case that does not end within its time ends it."""
        command = self.command(mpi, level)
        print("+", " ".join(command), flush=True)
        with open(self.path / "job.out", "w+", encoding="utf-8", errors="replace") as out:
            job = subprocess.Popen(command, env=launcher_environment(mpi), stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
            at, since = None, time.monotonic()
            while job.poll() is None:
                time.sleep(POLL_SECONDS)
                now = self.progress()[0]
                if now != at:
                    at, since = now, time.monotonic()
                within = self.cases[max(max(at.values()), self.first)].options.within
                if time.monotonic() - since > within:
                    self.timed_out = True
                    judge.end_job(job.pid)
                    job.wait()
        self.exit = job.returncode
        print((self.path / "job.out").read_text(errors="replace"), end="", flush=True)

    def ended_everywhere(self):
        """The cases from the first one that all ranks have ended."""
        begun, ended, _ = self.progress()
        count = self.first
        while count < len(self.cases) and all(count in its for its in ended.values()):
            count += 1
        return count, max(begun.values()) >= self.first

    def reports(self, index):
        """Of each rank, what it has counted in this case: the difference to the report of the one before."""
        found = []
        for rank in range(self.cases[0].options.n):
            now, before = self.path / f"{index}.{rank}.json", self.path / f"{index - 1}.{rank}.json"
            if now.exists():
                earlier = json.loads(before.read_text()) if before.exists() else {"calls": []}
                found.append(counted_since(json.loads(now.read_text()), earlier, rank))
        return found

    def result(self, index):
        _, ended, _ = self.progress()
        codes = [its.get(index) for its in ended.values()]
        texts = [self.path / f"{index}.{rank}.out" for rank in ended]
        text = "".join(one.read_text(errors="replace") for one in texts if one.exists())
        exit_code = (self.exit or 1) if None in codes else max(codes, key=abs)
        return judge.Result(text, exit_code, self.timed_out and None in codes, self.reports(index) if self.ours else [])


def is_setting(text):
    """Whether crossrail_set() can give it to communicators that are made later; others are in the environment of the whole job."""
    variable = text.split("=", 1)[0]
    return variable in presets() and variable != "CROSSRAIL_REPRODUCIBLE"


def counted_since(now, before, rank):
    """The calls of a report less those of an earlier one of the same process."""
    earlier = {(call["name"], call["interface"]): call for call in before["calls"]}
    return {**now, "rank": rank, "calls": [less(call, earlier.get((call["name"], call["interface"]), {})) for call in now["calls"]]}


def less(now, before):
    if isinstance(now, dict):
        return {key: less(value, before.get(key, type(value)())) for key, value in now.items()}
    return now - before if isinstance(now, (int, float)) else now


class Runs:
    """All jobs that some cases take, and the result of each case."""

    def __init__(self, mpi, level, ours):
        self.mpi, self.level, self.ours = mpi, level, ours
        self.results, self.faults = {}, []

    def run(self, cases):
        first = 0
        while first < len(cases):
            job = Job(cases, first, self.ours)
            job.run(self.mpi, self.level)
            count, any_begun = job.ended_everywhere()
            last = min(count, len(cases) - 1)
            for index in range(first, last + 1):
                self.results[cases[index].name] = job.result(index)
            if count == len(cases):
                if job.exit != 0:
                    self.faults.append(f"exit status {job.exit} of the job once all cases had ended")
                return
            self.results[cases[count].name].text += f"\nThe job {'was ended' if job.timed_out else 'ended by itself'} in this case.\n"
            if not any_begun:
                self.faults.append(f"the job has ended with status {job.exit} before its first case")
                return
            first = count + 1


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("--mpi", "--cases", "--programs", "--libraries", "--wheels"):
        parser.add_argument(name, required=True)
    parser.add_argument("-n", type=int, required=True, help="ranks")
    parser.add_argument("--level", type=int, default=0, help="the thread level, as MPI counts them")
    parser.add_argument("--first", help="library before all others, as of run_mpi.py")
    parser.add_argument("--only", default=os.environ.get("CROSSRAIL_CASES", ""), metavar="REGEX", help="cases of such names only")
    return parser.parse_args(argv)


def complaints_of(case, results, natives):
    if case.name not in results:
        return ["not run"]
    wrong = judge.complaints(results[case.name], case.options)
    if case.options.same_as_native:
        wrong += judge.differences(results[case.name], natives[case.name]) if case.name in natives else ["not run without crossrail"]
    return wrong


def tell(case, results, wrong):
    if not wrong:
        print(f"passed: {case.name}")
        return
    print(f"FAILED: {case.name}, which printed:")
    print(results[case.name].text if case.name in results else "", end="")
    for complaint in wrong:
        print(f"FAILED: {case.name}: {complaint}")


def main(argv):
    options = parse(argv)
    mpi = all_mpis(options.wheels)[options.mpi]
    if mpi.absent():
        run_mpi.skip(mpi.absent())
    cases = read_cases(options)
    if not cases:
        run_mpi.skip(f"no case has a name like '{options.only}'")
    for case in cases:
        case.options.first = options.first
    before = judge.shm_names()
    ours, native = Runs(mpi, options.level, True), Runs(mpi, options.level, False)
    ours.run(cases)
    native.run([case for case in cases if case.options.same_as_native])
    faults = ours.faults + [f"without crossrail: {fault}" for fault in native.faults]
    if any(case.options.clean_shm for case in cases):
        faults += [f"left in /dev/shm: {name}" for name in judge.left_in_shm(before)]
    failed = []
    for case in cases:
        wrong = complaints_of(case, ours.results, native.results)
        tell(case, ours.results, wrong)
        failed += [case.name] if wrong else []
    for fault in faults:
        print("FAILED:", fault)
    print(f"{len(cases) - len(failed)} of {len(cases)} cases passed")
    for name in failed:
        print(f"failed: {name} (to run it by itself: CROSSRAIL_CASES='^{name}$' in the environment)")
    return 1 if failed or faults else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main(sys.argv[1:]))
