"""The last lines of `make test`."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "cmake/test_summary.py"
CASES = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="(empty)" tests="6">
  <testcase name="a" status="run"><system-out>fine, and it skipped nothing</system-out></testcase>
  <testcase name="b" status="run"><system-out></system-out></testcase>
  <testcase name="c" status="fail"><failure message=""/><system-out>wrong</system-out></testcase>
  <testcase name="d" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/><system-out>first
skipped: no GPU
</system-out></testcase>
  <testcase name="e" status="notrun"><skipped message=""/><system-out>run_mpi.py: skipped: no GPU.</system-out></testcase>
  <testcase name="f" status="notrun"><skipped message=""/><system-out></system-out></testcase>
  <testcase name="g" status="disabled"><system-out></system-out></testcase>
</testsuite>"""


def run(path, *words):
    return subprocess.run([sys.executable, SCRIPT, path, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def test_it_says_how_many_ran_and_why_others_could_not(tmp_path):
    (tmp_path / "tests.xml").write_text(CASES)
    done = run(tmp_path / "tests.xml")
    assert done.returncode == 0
    assert done.stdout.splitlines() == ["c failed:", "  wrong", "  2 could not run: no GPU", "  1 could not run: no reason given", "  1 could not run: disabled",
                                        "3 tests ran: 2 passed, 1 failed, 4 could not run here."]


def test_a_failed_test_is_quoted_from_its_first_failure_on(tmp_path):
    quoted = [f"line {number}" for number in range(100)]
    for lines, first in ((quoted, "  line 75"), ([*quoted[:10], "x.cpp:3: Failure", *quoted[10:]], "  x.cpp:3: Failure")):
        (tmp_path / "tests.xml").write_text(f'<testsuite><testcase name="a" status="fail"><system-out>{chr(10).join(lines)}</system-out></testcase></testsuite>')
        said = run(tmp_path / "tests.xml").stdout.splitlines()
        assert said[:2] == ["a failed:", first] and len(said) == 27


def test_where_all_ran_nothing_else_is_said(tmp_path):
    (tmp_path / "tests.xml").write_text('<testsuite><testcase name="a" status="run"/></testsuite>')
    assert run(tmp_path / "tests.xml").stdout == "1 tests ran: 1 passed, 0 failed.\n"


def test_without_an_account_there_is_a_sentence(tmp_path):
    done = run(tmp_path / "nosuch.xml")
    assert done.returncode == 1 and "no account of the tests" in done.stdout and "Traceback" not in done.stdout


def test_tests_that_are_left_out_are_counted(tmp_path):
    (tmp_path / "tests.xml").write_text('<testsuite><testcase name="a" status="run"/></testsuite>')
    assert run(tmp_path / "tests.xml", "5").stdout == "1 tests ran: 1 passed, 0 failed, 4 under further MPI libraries left out ('make test SHARE=all' runs them).\n"
    assert ", 4 under further" in run(tmp_path / "tests.xml", "2", "3").stdout
    for known in ("1", "", "many"):
        assert run(tmp_path / "tests.xml", known).stdout == "1 tests ran: 1 passed, 0 failed.\n"
