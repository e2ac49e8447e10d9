"""What a test run is expected to show, and whether it did."""
import json
import os
import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Result:
    text: str
    exit: int
    timed_out: bool
    reports: list  # These are CROSSRAIL_REPORT's, one a process.


def read_reports(folder):
    return [json.loads(path.read_text()) for path in sorted(Path(folder).glob("*.json"))]


def shm_names():
    return {name for name in os.listdir("/dev/shm") if "crossrail" in name}


def left_in_shm(before):
    """Names that were not there before, and stay: those of jobs beside this one go soon."""
    left = shm_names() - before
    for _ in range(50):
        if not left:
            break
        time.sleep(0.2)
        left &= shm_names()
    return left


def family_of(root):
    """A process and all its descendants, which may have left its process group."""
    children = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue
        children.setdefault(parent, []).append(int(entry.name))
    family = [root]
    for pid in family:
        family += children.get(pid, [])
    return family


def end_job(root):
    family = family_of(root)
    for how in (signal.SIGTERM, signal.SIGKILL):
        for pid in family:
            try:
                os.kill(pid, how)
            except ProcessLookupError:
                pass
        time.sleep(0.5)


def calls(report, name):
    found = [call for call in report["calls"] if call["name"] == name]
    total = {"carried": 0, "native": 0, "errors": 0, "algorithms": {}}
    for call in found:
        for key in ("carried", "native", "errors"):
            total[key] += call[key]
        for algorithm, count in call["algorithms"].items():
            total["algorithms"][algorithm] = total["algorithms"].get(algorithm, 0) + count
    return total


def counted_wrong(result, options):
    """Every process must have counted at least this many calls, carried or native."""
    wrong = []
    wanted = [("carried", want) for want in options.expect_carried]
    wanted += [("native", want) for want in options.expect_native]
    if wanted and len(result.reports) != options.n:
        return [f"{len(result.reports)} reports of {options.n} ranks"]
    for kind, want in wanted:
        parts = want.split(":")
        name, least = parts[0], parts[1] if len(parts) > 1 else "1"
        algorithm = parts[2] if len(parts) > 2 else ""
        for report in result.reports:
            counted = calls(report, name)
            number = counted["algorithms"].get(algorithm, 0) if algorithm else counted[kind]
            if number < int(least):
                wrong.append(f"rank {report['rank']}: {number} calls of {name} {kind} {algorithm}, "
                             f"not {least}: {counted}")
    return wrong


def errors_wrong(result, options):
    """All processes together must have counted at least this many calls that ended with an error."""
    wrong = []
    for want in getattr(options, "expect_errors", []):  # Only run_mpi.py has it.
        name, _, least = want.partition(":")
        number = sum(calls(report, name)["errors"] for report in result.reports)
        if number < int(least or 1):
            wrong.append(f"{number} calls of {name} counted as errors, not {least or 1}")
    return wrong


def overlap(report, name):
    """The times of nonblocking or persistent calls, carried or native, and the time elsewhere while they were under way."""
    total = dict.fromkeys(("calls", "starting", "waiting", "under_way"), 0)
    for call in report["calls"]:
        if call["name"] == name:
            for times in call.get("overlap", {}).values():
                total = {key: total[key] + times[key] for key in total}
    return {**total, "elsewhere": total["under_way"] - total["starting"] - total["waiting"]}


def overlap_wrong(result, options):
    """Of what is counted of every call: as many ends as calls; times that are none. Of what is expected: at least so much."""
    wrong = []
    for report in result.reports:
        for call in report["calls"]:
            for by, times in call.get("overlap", {}).items():
                ended = call["carried"] + call["errors"]
                if by == "crossrail" and times["calls"] != ended or min(times.values()) < 0:
                    wrong.append(f"rank {report['rank']}: {ended} calls of {call['name']} carried, but {by}: {times}")
    for want in options.expect_overlap:
        rank, name, what, least = want.split(":")
        found = [overlap(report, name) for report in result.reports if report["rank"] == int(rank)]
        if not found or found[0][what] < float(least):
            wrong.append(f"rank {rank}: {name}: {what} is not at least {least}: {found}")
    return wrong


NUMBER = r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?"
# Sanitizers print these where the library is built with them.
SANITIZERS = r"^.*(ERROR: AddressSanitizer|: runtime error: ).*$"


def text_wrong(result, options):
    wrong = [line.group(0) for line in re.finditer(SANITIZERS, result.text, re.M)]
    for pattern in options.expect_text:
        if not re.search(pattern, result.text, re.M):
            wrong.append(f"nothing like '{pattern}' was printed")
    for pattern in options.forbid_text:
        if re.search(pattern, result.text, re.M):
            wrong.append(f"something like '{pattern}' was printed")
    for pattern in options.expect_once:
        lines = [line for line in result.text.splitlines() if re.search(pattern, line)]
        if len(lines) != 1:
            wrong.append(f"'{pattern}' in {len(lines)} lines, not 1")
    return wrong


def complaints(result, options):
    wrong = []
    if result.timed_out:
        wrong.append(f"not ended after {options.within} s")
    if options.exit == "zero" and result.exit != 0:
        wrong.append(f"exit status {result.exit}")
    if options.exit == "nonzero" and result.exit == 0:
        wrong.append("exit status 0, an error was expected")
    passed = len(re.findall(r"PASS", result.text))
    passes = getattr(options, "passes", None)  # Only run_mpi.py has it.
    expected = options.n if passes is None else passes
    if not options.no_pass and passed != expected:
        wrong.append(f"{passed} ranks said PASS, not {expected}")
    return wrong + counted_wrong(result, options) + errors_wrong(result, options) + overlap_wrong(result, options) + text_wrong(result, options)


def result_lines(result):
    # Launchers may glue the lines of two ranks together.
    return sorted(re.findall(r"result rank .*?(?=result rank|PASS|$)", result.text, re.M))


def differences(result, native):
    """Lines 'result ...' must be those of the same run without crossrail."""
    ours, theirs = result_lines(result), result_lines(native)
    if not theirs:
        return ["the run without crossrail printed no results"]
    wrong = [f"only with crossrail: {line}" for line in ours if line not in theirs]
    wrong += [f"only without crossrail: {line}" for line in theirs if line not in ours]
    if not wrong and len(ours) != len(theirs):
        wrong.append(f"{len(ours)} results with crossrail, {len(theirs)} without")
    if native.timed_out:
        wrong.append("the run without crossrail did not end")
    return wrong


SUMS_AGREE = 1e-6  # It is relative, for sums of floating-point numbers in another order.


def other_numbers(result, native, pattern):
    """Lines like the pattern must be those of the run without crossrail, numbers within SUMS_AGREE of the largest of their line."""
    ours, theirs = ([line for line in one.text.splitlines() if re.search(pattern, line)] for one in (result, native))
    if not theirs:
        return [f"the run without crossrail printed nothing like '{pattern}'"]
    if len(ours) != len(theirs):
        return [f"{len(ours)} lines like '{pattern}' with crossrail, {len(theirs)} without"]
    wrong = []
    for mine, native_line in zip(ours, theirs):
        pairs = list(zip(re.findall(NUMBER, mine), re.findall(NUMBER, native_line)))
        largest = max((abs(float(there)) for _, there in pairs), default=0)
        same_text = re.sub(NUMBER, "", mine).split() == re.sub(NUMBER, "", native_line).split()
        if not same_text or any(abs(float(here) - float(there)) > SUMS_AGREE * largest for here, there in pairs):
            wrong.append(f"with crossrail:    {mine}\nwithout crossrail: {native_line}")
    return wrong
