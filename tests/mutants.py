#!/usr/bin/env python3
"""Shows that tests find what they are for: breaks one line of a room of src/, builds, and wants the room's test to fail.

    tests/mutants.py [--build FOLDER] [--only REGEX]      all of tests/mutants.json, or those whose room and test match

A mutant is found by its line, which must be there once in its room, so that it stays true where files move. "test" is a unit program, and
the name of its ctest. The line is put back whatever happens. Exit status: 0 every mutant was found; 1 one was not, or could not be tried.
"""
import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]


def place_of(mutant):
    """The one file of the room that has the line; a sentence where there is none, or more than one."""
    files = [file for file in sorted((TREE / "src" / mutant["room"]).rglob("*")) if file.suffix in (".h", ".cpp")]
    found = [file for file in files for _ in range(file.read_text().count(mutant["line"]))]
    return (found[0], "") if len(found) == 1 else (None, f"the line is there {len(found)} times")


def build(folder, test):
    done = subprocess.run(["cmake", "--build", folder, "--target", test], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode == 0, done.stdout


def test_passes(folder, test):
    words = ["ctest", "--test-dir", folder, "-R", f"^{test}$", "--no-tests=error", "--timeout", "300"]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if "No tests were found" in done.stdout:
        return None
    return done.returncode == 0


def try_mutant(mutant, folder):
    """What is wrong with the tests, as this mutant shows; empty: it was found."""
    file, wrong = place_of(mutant)
    if file is None:
        return wrong
    whole = file.read_text()
    try:
        file.write_text(whole.replace(mutant["line"], mutant["becomes"]))
        built, said = build(folder, mutant["test"])
        if not built:
            return "it does not compile:\n" + "\n".join(said.splitlines()[-15:])
        passes = test_passes(folder, mutant["test"])
        return "" if passes is False else f"there is no test {mutant['test']}" if passes is None else f"{mutant['test']} does not find it"
    finally:
        file.write_text(whole)


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default=str(TREE / "build"), help="a configured build folder")
    parser.add_argument("--only", default="", metavar="REGEX")
    options = parser.parse_args(argv)
    mutants = [one for one in json.loads((TREE / "tests/mutants.json").read_text()) if re.search(options.only, f"{one['room']} {one['test']}")]
    failed = 0
    for mutant in mutants:
        began = time.monotonic()
        wrong = try_mutant(mutant, options.build)
        failed += 1 if wrong else 0
        print(f"{mutant['room']}: {'NOT FOUND: ' + wrong if wrong else 'found by ' + mutant['test']} ({time.monotonic() - began:.0f} s): {mutant['becomes']}", flush=True)
    for test in sorted({one["test"] for one in mutants}):
        if not build(options.build, test)[0] or not test_passes(options.build, test):
            print(f"{test} does not pass without a mutant")
            failed += 1
    print(f"{len(mutants)} mutants, {failed} complaints")
    return 1 if failed or not mutants else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
