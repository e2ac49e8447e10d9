#!/usr/bin/env python3
"""Makes what search.py has found as small as it will go, and prints it as a C program.

    shrink.py findings/mpich4.17003.json > wrong.c
"""
import argparse
import json
import sys
import time
from pathlib import Path

from as_c import c_program
from running import Runner
from smaller import normal, places_of, simpler_steps, without_rank, without_steps


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("finding")
    add("--build", default=str(Path(__file__).resolve().parents[2] / "build"))
    add("--wheels")
    add("--seconds", type=int, default=5, help="after which a program hangs")
    add("--tries", type=int, default=1, help="runs of a program until it counts as right")
    add("--minutes", type=float, default=20)
    options = parser.parse_args(argv)
    options.kept = json.loads(Path(options.finding).read_text())
    options.mpi, options.devices = options.kept["mpi"], options.kept.get("devices", "none")
    return options


class Shrinker:
    def __init__(self, options):
        self.runner = Runner(options)
        self.tries, self.level = options.tries, options.kept["level"]
        self.end = time.time() + 60 * options.minutes
        self.runs = 0
        self.path, self.kept = Path(options.finding), options.kept

    def fails(self, programs):
        """With crossrail, and not without."""
        if time.time() > self.end or not any(programs[-1]["parts"]):
            return False
        for _ in range(self.tries):
            self.runs += 1
            if not self.runner.run(programs, self.level).right:
                return self.runner.run(programs, self.level, carried=False).right
        return False

    def without_programs(self, programs):
        """As few as possible before the last one."""
        if len(programs) == 1 or self.fails(programs[-1:]):
            return programs[-1:]
        for program in programs[:-1]:
            fewer = [one for one in programs if one is not program]
            if self.fails(fewer):
                programs = fewer
        return programs

    def fewer_steps(self, program):
        chunk = max(1, len(places_of(program)) // 2)
        while True:
            at = 0
            while at < len(places_of(program)):
                smaller = without_steps(program, places_of(program)[at:at + chunk])
                if self.fails([smaller]):
                    program = smaller
                else:
                    at += chunk
            if chunk == 1:
                return program
            chunk = max(1, chunk // 2)

    def fewer_ranks(self, program):
        for rank in reversed(range(program["ranks"])):
            if program["ranks"] > 1 and self.fails([smaller := without_rank(program, rank)]):
                program = smaller
        return program

    def simpler(self, program):
        for i, k in places_of(program):
            tried = True
            while tried:
                tried = False
                for step in simpler_steps(program["parts"][i][k]):
                    parts = [list(part) for part in program["parts"]]
                    parts[i][k] = step
                    if self.fails([{**program, "parts": parts}]):
                        program, tried = {**program, "parts": parts}, True
                        break
        return program

    def keep(self, programs):
        self.path.with_suffix(".small.json").write_text(json.dumps({**self.kept, "programs": programs}))

    def shrink(self, program):
        """Over and over, until nothing more goes; what there is so far is kept beside the finding."""
        before = None
        while program != before:
            before = program
            program = self.simpler(self.fewer_ranks(self.fewer_steps(normal(program))))
            self.keep([program])
            print(f"{len(places_of(program))} steps of {program['ranks']} ranks after {self.runs} runs", file=sys.stderr)
        return program


def main(argv):
    options = parse(argv)
    shrinker = Shrinker(options)
    programs = options.kept["programs"]
    if not any(shrinker.fails(programs) for _ in range(3)):
        print("it does not go wrong again: more --tries?", file=sys.stderr)
        return 1
    programs = shrinker.without_programs(programs)
    if len(programs) > 1:
        print(f"needs {len(programs) - 1} programs before it", file=sys.stderr)
    else:
        programs = [shrinker.shrink(programs[0])]
    shrinker.keep(programs)
    print(c_program(programs[-1], options.kept))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
