"""`crossrail run` with helper processes on tests/mpi/helped.c and its like, the same without crossrail, and what a run leaves behind."""

import functools
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/mpi"))

import mpis  # noqa: E402
from crossrail.supervise import exit_code  # noqa: E402

BUILD = Path(os.environ.get("CROSSRAIL_BUILD", ROOT / "build"))
PROGRAMS = BUILD / "tests/mpi/programs"
MARK = "HELPED_TEST_RUN"  # It is in the environment of all processes of a run.
HELPED = "3 processes a rank"  # The log says it of a plan whose messages two helper processes share.
SETTINGS = {"CROSSRAIL_LIBRARY_DIR": str(BUILD), "CROSSRAIL_NODES": "0,1", "CROSSRAIL_LOG": "1", "CROSSRAIL_ALLREDUCE": "multi_lane processes=3",
            "CROSSRAIL_CONFIG": "none", "CROSSRAIL_OPEN_AFTER": "0", "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
ENOUGH_S = 60.0  # It only tells a hang from a slow machine.


def usable(name):
    """The MPI of this name; the test is skipped where it cannot be had here."""
    mpi = mpis.all_mpis(os.environ.get("CROSSRAIL_WHEELS", BUILD / "wheels"))[name]
    if mpi.absent():
        pytest.skip(mpi.absent())
    for needed in (BUILD / f"bench/helper_{mpi.flavour}", BUILD / f"libcrossrail_mpi_{mpi.flavour}.so", PROGRAMS / mpi.build / "helped"):
        if not needed.exists():
            pytest.skip(f"{name}: {needed} is not built")
    return mpi


def marked(mark):
    """The processes of a run that live."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and f"{MARK}={mark}".encode() in (process / "environ").read_bytes():
                found.append(process)
        except OSError:
            continue
    return found


class Run:
    """One that has been started; `helpers` None: without crossrail. `words` are the launcher's, `program` other words than those of `helped WAY`."""

    def __init__(self, mpi, way, helpers, words=None, program=()):
        self.mark = secrets.token_hex(8)
        words = [*mpi.launcher_args] if words is None else list(words)
        program = list(program) or [str(PROGRAMS / mpi.build / "helped"), way]
        environment = {**mpis.launcher_environment(mpi), MARK: self.mark}
        if not mpi.yields:
            environment["LD_PRELOAD"] = str(PROGRAMS / "yield.so")
        command = [mpi.launcher, "-n", "2", *words, *program]
        if helpers is not None:
            environment.update(SETTINGS)
            own = ["--mpi", mpi.flavour, "--launcher", mpi.launcher, "-n", "2", "--helpers-per-gpu", str(helpers)]
            command = [sys.executable, "-m", "crossrail", "run", *own, *words, "--", *program]
        self.said = b""
        self.job = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_problem):
        for process in marked(self.mark):
            try:
                os.kill(int(process.name), signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.job.stdout.close()
        self.job.wait()

    def until_said(self, word, count):
        """Reads until a word was said so often."""
        os.set_blocking(self.job.stdout.fileno(), False)
        until = time.monotonic() + ENOUGH_S
        while self.said.count(word) < count:
            assert time.monotonic() < until, f"'{word}' was not said {count} times: {self.said}"
            self.said += self.job.stdout.read() or b""
            time.sleep(0.02)
        os.set_blocking(self.job.stdout.fileno(), True)

    def ended(self):
        """The exit code as a shell sees it, and all that was said."""
        try:
            said, _ = self.job.communicate(timeout=ENOUGH_S)
        except subprocess.TimeoutExpired:
            pytest.fail(f"not ended after {ENOUGH_S} s: {self.said}")
        return exit_code(self.job.returncode), (self.said + said).decode(errors="replace")

    def left(self):
        """The command lines of its processes that are still there, after some time for those that are ending."""
        until = time.monotonic() + 10
        while marked(self.mark) and time.monotonic() < until:
            time.sleep(0.05)
        return [(process / "cmdline").read_bytes() for process in marked(self.mark)]

    def helpers(self):
        """Its helper processes."""
        return [process for process in marked(self.mark) if (process / "comm").read_text().startswith("helper_")]


def run(mpi, way, helpers, words=None, program=()):
    """One run to its end, which leaves nothing behind: its exit code and what was said."""
    with Run(mpi, way, helpers, words, program) as job:
        ended = job.ended()
        assert job.left() == []
        return ended


@functools.lru_cache(maxsize=None)
def native_code(name, way):
    """The exit code that the launcher has without crossrail."""
    return run(usable(name), way, None)[0]


def is_native_code(name, way, code):
    """Whether the launcher has this one, too. MPICH's is 0 or 1, by chance, where a rank leaves without MPI_Finalize."""
    return code == native_code(name, way) or ("no_finalize" in way and any(run(usable(name), way, None)[0] == code for _ in range(8)))
