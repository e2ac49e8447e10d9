#!/usr/bin/env python3
"""Whatever happens to a case of run_cases.py, it is named, and the others are judged: cases_test.py OPTIONS-OF-RUN_CASES.PY"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ALGORITHM = "CROSSRAIL_ALLTOALL="
CASES = [
    ("first", "case_examples right"),
    ("with_setting", f"--set {ALGORITHM}bruck --expect-carried MPI_Alltoall:20:bruck case_examples right"),
    ("bad_wrong", "case_examples wrong"),
    ("without_setting", "--expect-carried MPI_Alltoall:20:node_shared case_examples right"),
    ("bad_count", f"--set {ALGORITHM}bruck --expect-carried MPI_Alltoall:20:node_shared case_examples right"),
    ("bad_count_of_before", "--expect-carried MPI_Alltoall:21 case_examples right"),
    ("bad_ends", "case_examples ends"),
    ("after_the_end", "case_examples right"),
    ("bad_waits", "--within 5 case_examples waits"),
    ("on_two_nodes", f"--set CROSSRAIL_NODES=0,1 --set {ALGORITHM}pairwise --expect-carried MPI_Alltoall:20:pairwise case_examples right"),
    ("bad_aborts", "case_examples aborts"),
    ("last", "--forbid-text bad --set CROSSRAIL=0 --expect-native MPI_Alltoall:20 case_examples right"),
]


def main(words):
    with tempfile.TemporaryDirectory(prefix="crossrail_test_cases.") as folder:
        cases = Path(folder) / "cases"
        cases.write_text("".join(name + "\t" + "\t".join(case.split()) + "\n" for name, case in CASES))
        script = Path(__file__).with_name("run_cases.py")
        words = [sys.executable, "-S", script, *words, "--cases", cases, "--only", ""]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode == 77:
        print(done.stdout)
        return 77
    passed = re.findall(r"^passed: (\w+)$", done.stdout, re.M)
    failed = re.findall(r"^failed: (\w+) ", done.stdout, re.M)
    wrong = [name for name, _ in CASES if (name in failed, name in passed) != (name.startswith("bad"), not name.startswith("bad"))]
    jobs = len(re.findall(r"\+ \S*mpirun\S* ", done.stdout))  # PRRTE may leave a NUL before it on the line.
    if wrong or done.returncode != 1 or jobs != 4:
        print(done.stdout)
        print(f"FAILED: judged wrongly: {wrong}; exit status {done.returncode}, {jobs} jobs")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
