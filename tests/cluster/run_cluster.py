#!/usr/bin/env python3
"""Runs one test program on a cluster on this machine and judges what came of it.

    run_cluster.py --mpi openmpi4 --per-host 2,2 --set CROSSRAIL_ALLTOALL=pairwise hosts 2,2

A program says PASS once on every rank. Exit status: 0 as expected, 1 not, 77 cannot be tried here.
"""
import argparse
import sys
import tempfile

from clusters import Run, add_places, judge, usable_mpi


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add_places(parser)
    add = parser.add_argument
    add("--per-host", required=True, help="ranks of each host: 3,1")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="environment of crossrail")
    add("--within", type=float, default=150, help="seconds after which the run has failed")
    add("--native", action="store_true")
    add("--finalize-may-hang", action="store_true", help="ends the run when all ranks have said PASS and MPI_Finalize hangs")
    add("--expect-carried", action="append", default=[], metavar="NAME[:LEAST[:ALGORITHM]]")
    add("program")
    add("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args(argv)
    options.n = sum(int(word) for word in options.per_host.split(","))
    options.exit, options.no_pass = "zero", False
    options.expect_native, options.expect_text, options.forbid_text, options.expect_once = [], [], [], []
    options.expect_overlap = []
    return options


def finish(run, options):
    """The exit code; 0 as well for a run that said all it had to say and hangs in an MPI_Finalize known to hang."""
    if not options.finalize_may_hang:
        return run.finish(options.within)
    run.until("PASS", options.n, options.within)
    if run.wait(10) is not None:
        return run.finish(1)
    print("the MPI library's own MPI_Finalize hangs, as it is known to: the run is ended")
    run.end()
    return 0


def main(argv):
    options = parse(argv)
    mpi = usable_mpi(options)
    with tempfile.TemporaryDirectory(prefix="crossrail_test_report.") as folder:
        own = ["--per-host", options.per_host] + (["--native"] if options.native else ["--report-folder", folder])
        run = Run(options, mpi, own, [options.program, *options.arguments], [one.split("=", 1) for one in options.set])
        code = finish(run, options)
        result = judge.Result(run.text, 1 if code is None else code, code is None, judge.read_reports(folder))
    complaints = judge.complaints(result, options) + run.left_behind()
    for complaint in complaints:
        print("FAILED:", complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
