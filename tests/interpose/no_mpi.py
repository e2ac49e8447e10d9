#!/usr/bin/env python3
"""A library of crossrail preloaded into programs that know no MPI must change nothing and say nothing.

    no_mpi.py LIBRARY...
"""
import os
import subprocess
import sys

PROGRAMS = [
    ["true"],
    ["false"],
    ["env", "-i", "sh", "-c", "echo $((6 * 7))"],
    ["bash", "-c", "for i in 1 2 3; do echo $i | cat; done; timeout 5 echo done; exit 7"],
    ["ls", "/"],
    ["/usr/bin/python3", "-c", "import ctypes, threading, sys; print(sum(range(1000))); sys.exit(3)"],
]


def run(program, library):
    env = {name: value for name, value in os.environ.items() if not name.startswith("CROSSRAIL")}
    if library:
        env["LD_PRELOAD"] = library
    done = subprocess.run(program, env=env, capture_output=True, timeout=20, check=False)
    return done.returncode, done.stdout, done.stderr


def main(libraries):
    libraries = [library for library in libraries if os.path.exists(library)]
    if not libraries:
        print("skipped: no library is built here")
        return 77
    failures = 0
    for program in PROGRAMS:
        without = run(program, None)
        for library in libraries:
            preloaded = run(program, library)
            same = preloaded == without
            failures += not same
            print("ok    " if same else "FAILED", os.path.basename(library), " ".join(program)[:60])
            if not same:
                print("  without:", without, "\n  with:   ", preloaded)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
