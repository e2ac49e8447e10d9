"""The last lines of `make test`: what the failed tests said, how many ran, how many could not and why.

usage: test_summary.py FILE [TESTS...]   what `ctest --output-junit FILE` wrote; how many tests there are, those that were left out too: the sum
"""

import re
import sys
import xml.etree.ElementTree as xml
from collections import Counter

MOST_REASONS = 6
MOST_SAID = 25  # A failed test prints so many lines.
FAILURE = re.compile(r"\b(failure|error|wrong)\b", re.IGNORECASE)
JUDGED = re.compile(r"^FAILED\b")  # Tests of many cases name those that failed so.
PREFIX = re.compile(r"^.*?\bskipped: ", re.IGNORECASE)


def reason(test):
    """Why a test could not run, as it said itself: its last line that speaks of it."""
    text = test.findtext("system-out") or ""
    said = [line.strip() for line in text.splitlines() if "skip" in line.lower()]
    if test.get("status") == "disabled":
        return "disabled"
    return PREFIX.sub("", said[-1]).rstrip(".") if said else "no reason given"


def trouble(test):
    """What a failed test printed, under its name: from where it first speaks of a failure, else the end."""
    lines = (test.findtext("system-out") or "").rstrip().splitlines()
    found = [at for mark in (JUDGED, FAILURE) for at, line in enumerate(lines) if mark.search(line)]
    begin = found[0] if found else max(0, len(lines) - MOST_SAID)
    return [f"{test.get('name')} failed:", *(f"  {line}" for line in lines[begin:begin + MOST_SAID])]


def summary(root, known=0):
    """The lines to print; the last one has the numbers. `known`: tests in all, 0 where that is not known."""
    tests = list(root.iter("testcase"))
    counted = Counter(test.get("status") for test in tests)
    missing = [test for test in tests if test.get("status") in ("notrun", "disabled")]
    reasons = Counter(map(reason, missing)).most_common()
    lines = [line for test in tests if test.get("status") == "fail" for line in trouble(test)]
    lines += [f"  {count} could not run: {words}" for words, count in reasons[:MOST_REASONS]]
    rest = sum(count for _, count in reasons[MOST_REASONS:])
    if rest:
        lines.append(f"  {rest} could not run for other reasons")
    could_not = f", {len(missing)} could not run here" if missing else ""
    others = max(0, known - len(tests))
    left = f", {others} under further MPI libraries left out ('make test SHARE=all' runs them)" if others else ""
    return [*lines, f"{counted['run'] + counted['fail']} tests ran: {counted['run']} passed, {counted['fail']} failed{could_not}{left}."]


if __name__ == "__main__":
    try:
        known = sum(int(number) for number in sys.argv[2:] if number.isdigit())
        print("\n".join(summary(xml.parse(sys.argv[1]).getroot(), known)))
    except (OSError, xml.ParseError, IndexError) as error:
        sys.exit(f"test_summary.py: there is no account of the tests ({error})")
