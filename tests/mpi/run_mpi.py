#!/usr/bin/env python3
"""Runs one test program under one MPI with crossrail preloaded, and judges what came of it.

    run_mpi.py --mpi openmpi4 -n 4 --expect-carried MPI_Alltoall:100 differential 7

A program says PASS once on every rank. Exit status: 0 as expected, 1 not, 77 cannot be tried here.
"""
import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import helper_processes
import judge
import recorded
from mpis import all_mpis, launcher_environment

SKIP = 77


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--mpi", required=True)
    add("-n", type=int, default=2, help="ranks")
    add("--programs", required=True, help="folder with one folder of programs for each MPI")
    add("--libraries", required=True, help="folder of libcrossrail_mpi_<flavour>.so")
    add("--wheels", required=True)
    add("--preload", default="own", help="own, none, openmpi, mpich, abi")
    add("--first", help="library before all others: the runtime of the sanitizer with which crossrail's is built")
    add("--preload-launcher", action="store_true", help="as LD_PRELOAD=... mpirun does")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="environment of the ranks")
    add("--launch", action="append", default=[], help="one more argument of the launcher")
    add("--wrap", help="program of the same folder that starts each rank")
    add("--also-preload", help="library of the same folder, behind crossrail")
    add("--needs", help="skipped unless this command succeeds")
    add("--helpers", type=int, default=0, metavar="JOBS", help="jobs of helper processes beside the program")
    add("--missing-helpers", type=int, default=0, metavar="JOBS", help="jobs of which the ranks are told, too, though there are none")
    add("--kill-helper", type=float, metavar="SECONDS", help="one of them is killed after that")
    add("--without", choices=["first", "last"], help="this rank runs without crossrail")
    add("--shm", choices=["64m", "readonly"], help="another /dev/shm for this run (needs root)")
    add("--within", type=float, default=60, help="seconds after which the run has failed")
    add("--exit", choices=["zero", "nonzero", "any"], default="zero")
    add("--no-pass", action="store_true", help="the ranks are not expected to say PASS")
    add("--passes", type=int, help="ranks that say PASS; all unless told")
    add("--expect-carried", action="append", default=[], metavar="NAME[:LEAST[:ALGORITHM]]")
    add("--expect-native", action="append", default=[], metavar="NAME[:LEAST]")
    add("--expect-errors", action="append", default=[], metavar="NAME[:LEAST]", help="of all ranks together: the first one ends the others")
    add("--expect-overlap", action="append", default=[], metavar="RANK:NAME:WHAT:LEAST", help="calls, or seconds starting, waiting, ...")
    add("--expect-text", action="append", default=[], metavar="REGEX")
    add("--forbid-text", action="append", default=[], metavar="REGEX")
    add("--expect-once", action="append", default=[], metavar="REGEX", help="in exactly one line")
    add("--expect-recorded", action="store_true", help="the reports hold the calls of recorded_calls.c")
    add("--same-as-native", action="store_true", help="lines 'result ...' as without crossrail")
    add("--same-numbers", metavar="REGEX", help="in lines like this the same numbers as without crossrail, but for their last digits")
    add("--again-where", metavar="REGEX", help="text of a fault of the MPI library's own, after which the job runs again, three times in all")
    add("--clean-shm", action="store_true", help="/dev/shm must hold nothing of ours afterwards")
    add("program", help="name, or path of a program of the system")
    add("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args(argv)


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIP)


def find_program(mpi, options, name):
    if os.sep in name:
        return name
    folder = Path(options.programs) / mpi.build
    if not folder.exists():
        skip(f"nothing is compiled for {mpi.name} here: its headers were not found")
    missing = folder / f"{name}.missing"
    if missing.exists():
        skip(missing.read_text().strip())
    if not (folder / name).exists():
        sys.exit(f"{folder / name} is not built")
    return str(folder / name)


def preloads(mpi, options, flavour):
    found = [options.first] if options.first else []
    if not mpi.yields:
        found.append(str(Path(options.programs) / "yield.so"))
    if flavour != "none":
        library = Path(options.libraries) / f"libcrossrail_mpi_{flavour}.so"
        if not library.exists():
            skip(f"{library.name} is not built here")
        found.append(str(library))
        if options.also_preload:
            found.append(find_program(mpi, options, options.also_preload))
    return found


def launch_apart(launch, options, ranks):
    """As two programs of one job; one of them, of one rank, without crossrail."""
    alone = [word for word in ranks if "libcrossrail_mpi_" not in word]
    parts = [["-n", "1"] + alone, ["-n", str(options.n - 1)] + ranks]
    first, last = parts if options.without == "first" else reversed(parts)
    return launch + first + [":"] + last


def command_line(mpi, options, flavour, report):
    settings = list(options.set) + (options.told if flavour != "none" else [])
    if options.first:
        settings.append("ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1")  # MPI libraries' leaks are not ours.
    if flavour != "none":
        settings.append(f"CROSSRAIL_REPORT={report}")
        if not any(one.startswith("CROSSRAIL_OPEN_AFTER=") for one in settings):
            settings.append("CROSSRAIL_OPEN_AFTER=0")  # The test is about crossrail.
    found = preloads(mpi, options, flavour)
    if found:
        settings.append("LD_PRELOAD=" + ":".join(found))
    wrap = [find_program(mpi, options, options.wrap)] if options.wrap else []
    program = find_program(mpi, options, options.program)
    launch = [mpi.launcher] + mpi.launcher_args + options.launch + ["-n", str(options.n)]
    if options.preload_launcher:
        command = ["env"] + settings + launch + [program] + options.arguments
    else:
        ranks = wrap + ["env"] + settings + [program] + options.arguments
        command = launch + ranks if not options.without else launch_apart(launch[:-2], options, ranks)
    if options.shm:
        mount = "mount -t tmpfs -o size=64m tmpfs /dev/shm"
        if options.shm == "readonly":
            mount = "mount -t tmpfs -o ro tmpfs /dev/shm"
        command = ["unshare", "-m", "sh", "-c", mount + ' && exec "$@"', "sh"] + command
    return command


def run(mpi, options, flavour):
    """Runs the job; a job that does not end in time is ended with all its processes."""
    with tempfile.TemporaryDirectory(prefix="crossrail_test_report.", ignore_cleanup_errors=True) as report:
        command = command_line(mpi, options, flavour, report)
        print("+", " ".join(command), flush=True)
        began = time.monotonic()
        job = subprocess.Popen(command, env=launcher_environment(mpi), stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                               errors="replace", start_new_session=True)
        timed_out = False
        try:
            text, _ = job.communicate(timeout=options.within)
        except subprocess.TimeoutExpired:
            timed_out = True
            judge.end_job(job.pid)
            text, _ = job.communicate()
        seconds = time.monotonic() - began
        print(text, end="")
        print(f"(exit {job.returncode} after {seconds:.2f} s)", flush=True)
        return judge.Result(text, job.returncode, timed_out, judge.read_reports(report))


def run_again(mpi, options, flavour):
    """As run(), but for faults that the MPI library has without crossrail, too."""
    result = run(mpi, options, flavour)
    for _ in range(2 if options.again_where else 0):
        if not re.search(options.again_where, result.text):
            break
        print("a fault of the MPI library's own: once more")
        result = run(mpi, options, flavour)
    return result


def can_mount():
    probe = ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/dev/shm"]
    return subprocess.run(probe, stderr=subprocess.DEVNULL).returncode == 0


def main(argv):
    options = parse(argv)
    mpi = all_mpis(options.wheels).get(options.mpi)
    if mpi is None:
        print(f"no MPI named {options.mpi}")
        return 2
    if mpi.absent():
        skip(mpi.absent())
    if options.needs and subprocess.run(options.needs, shell=True, stderr=subprocess.DEVNULL).returncode != 0:
        skip(f"'{options.needs}' does not succeed here")
    if options.shm and not can_mount():
        skip("mounting another /dev/shm is not allowed here")
    flavour = mpi.flavour if options.preload == "own" else options.preload
    before = judge.shm_names()
    with helper_processes.HelperProcesses(mpi, options) as beside:
        options.told = beside.settings
        result = run_again(mpi, options, flavour)
    complaints = judge.complaints(result, options)
    if options.expect_recorded:
        complaints += recorded.recorded_wrong(result.reports)
    if options.clean_shm:
        complaints += [f"left in /dev/shm: {name}" for name in judge.left_in_shm(before)]
    if options.same_as_native:
        native = run(mpi, options, "none")
        complaints += judge.differences(result, native)
    if options.same_numbers:
        complaints += judge.other_numbers(result, run(mpi, options, "none"), options.same_numbers)
    for complaint in complaints:
        print("FAILED:", complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main(sys.argv[1:]))
