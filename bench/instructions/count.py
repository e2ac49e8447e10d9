#!/usr/bin/env python3
"""Counts the instructions that one MPI call executes: callgrind profiles rank 0 in two runs.

    bench/instructions/count.py LIBRARY [LIBRARY ...] [--mpicc mpicc.openmpi] [--mpirun mpirun.openmpi] [--rows]

Each count is the difference of two runs with 3 000 and 9 000 calls, so that set-up cancels out. `outside` excludes the algorithm
(<collective>::<name>::run) and, if MPI handles the call, the MPI library's own function.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = (  # Each case has a call, bytes, a kind and further settings.
    ("alltoall", 8, "usual", {}),
    ("allreduce", 8, "usual", {}),
    ("allgather", 8, "usual", {}),
    ("alltoall", 8, "usual", {"CROSSRAIL_GUARD": ""}),
    ("alltoall", 1500, "sizes", {}),
    ("alltoall", 8, "alone", {}),
    ("allreduce", 8, "alone", {}),
    ("allreduce", 8, "fresh", {"CROSSRAIL_OPEN_AFTER": "1000000000"}),
    ("ialltoall", 8, "usual", {}),
    ("iallreduce", 8, "usual", {}),
)
FEW, MANY = 3000, 9000
ALGORITHM = re.compile(r"crossrail::\w+::\w+::run\(")
NATIVE = re.compile(r"\bPMPI_(Alltoall|Allreduce|Allgather|Ialltoall|Iallreduce)\b")


def functions(path):
    """Returns the inclusive counts of a profile: ({function: instructions}, {(caller, callee): instructions})."""
    names, own, inside = {}, {}, {}
    current = callee = None
    number = re.compile(r"\((\d+)\)(?: (.*))?")

    def name(text):
        match = number.match(text)
        if match.group(2):
            names[match.group(1)] = match.group(2)
        return names[match.group(1)]

    after_call = False
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("fn="):
                current = name(line[3:].strip())
            elif line.startswith("cfn="):
                callee = name(line[4:].strip())
            elif line.startswith("calls="):
                after_call = True
            elif line[:1].isdigit() or line[:1] in "+-*":
                cost = int(line.split()[1]) if len(line.split()) > 1 else 0
                if after_call:
                    inside[(current, callee)] = inside.get((current, callee), 0) + cost
                    after_call = False
                else:
                    own[current] = own.get(current, 0) + cost
    return own, inside


def inclusive(inside, pattern):
    """Returns the cost of functions of this name with everything that they call, counting calls between them only once."""
    return sum(cost for (caller, callee), cost in inside.items() if pattern.search(callee) and not pattern.search(caller))


def profile(options, library, case, count):
    call, size, kind, settings = case
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "profile")
        symbol = {"alltoall": "MPI_Alltoall", "allreduce": "MPI_Allreduce", "allgather": "MPI_Allgather"}.get(call)
        collect = [f"--toggle-collect={symbol}"] if symbol else ["--toggle-collect=make"]
        environment = {"CROSSRAIL_GUARD": "0", **settings}
        wanted = [f"{name}={value}" for name, value in environment.items() if value != ""]
        program = [options.program, call, str(count), str(size), kind]
        first = ["env", f"LD_PRELOAD={library}", *wanted, "valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *collect, *program]
        second = ["env", f"LD_PRELOAD={library}", *wanted, *program]
        command = [*options.mpirun.split(), "-n", "1", *first, ":", "-n", "1", *second]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return functions(out)


def count(options, library, case):
    results = []
    for calls in (FEW, MANY):
        own, inside = profile(options, library, case, calls)
        results.append((sum(own.values()), inclusive(inside, ALGORITHM), inclusive(inside, NATIVE), own))
    (all_few, run_few, native_few, own_few), (all_many, run_many, native_many, own_many) = results
    calls = MANY - FEW
    total, run, native = (all_many - all_few) / calls, (run_many - run_few) / calls, (native_many - native_few) / calls
    parts = sorted(((own_many[name] - own_few.get(name, 0)) / calls, name) for name in own_many)
    return total, run, native, [part for part in reversed(parts) if part[0] >= 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="+")
    parser.add_argument("--mpicc", default="mpicc.openmpi")
    parser.add_argument("--mpirun", default="mpirun.openmpi --allow-run-as-root --oversubscribe --mca btl_vader_single_copy_mechanism none")
    parser.add_argument("--only", help="cases whose text holds this")
    parser.add_argument("--rows", action="store_true", help="show each function's own instructions")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        options.program = os.path.join(folder, "program")
        subprocess.run([options.mpicc, "-O2", "-o", options.program, os.path.join(HERE, "program.c")], check=True)
        print(f"{'call':34}" + "".join(f"{os.path.basename(os.path.dirname(os.path.abspath(one))):>28}" for one in options.libraries))
        for case in CASES:
            text = f"{case[0]} {case[1]} B {case[2]} {' '.join(f'{n}={v}' for n, v in case[3].items())}"
            if options.only and options.only not in text:
                continue
            cells, rows = [], []
            for library in options.libraries:
                total, run, native, parts = count(options, os.path.abspath(library), case)
                cells.append(f"{total - run - native:10.0f} outside {run + native:7.0f}")
                rows.append(parts)
            print(f"{text:34}" + "  ".join(cells), flush=True)
            if options.rows:
                for parts in rows:
                    print("\n".join(f"    {cost:8.1f} {name[:120]}" for cost, name in parts))


if __name__ == "__main__":
    main()
