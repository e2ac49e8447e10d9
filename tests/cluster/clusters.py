"""Starting `crossrail cluster` in tests, watching it, and looking for what it leaves behind."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TREE / "python"), str(TREE / "tests/mpi")]

import judge
from crossrail.cluster import network
from crossrail.cluster.hosts import Cluster
from crossrail.errors import CliError
from mpis import all_mpis, launcher_environment

SKIP = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIP)


def add_places(parser):
    """The options that say where things are."""
    parser.add_argument("--mpi", required=True)
    parser.add_argument("--programs", required=True, help="folder with one folder of programs for each MPI")
    parser.add_argument("--libraries", required=True, help="folder of libcrossrail_mpi_<flavour>.so")
    parser.add_argument("--wheels", required=True)


def usable_mpi(options):
    """The MPI of the options. Leaves with the skip code where it or a cluster cannot be had here."""
    mpi = all_mpis(options.wheels)[options.mpi]
    if mpi.absent():
        skip(mpi.absent())
    if not (Path(options.programs) / mpi.build).exists():
        skip(f"nothing is compiled for {mpi.name} here: its headers were not found")
    if not (Path(options.libraries) / f"libcrossrail_mpi_{mpi.flavour}.so").exists():
        skip(f"crossrail is not built for {mpi.flavour} here")
    if subprocess.run([str(TREE / "crossrail"), "--version"], stdout=subprocess.DEVNULL).returncode != 0:
        skip("the command line does not start here")
    try:
        with Cluster([1, 1]):
            pass
    except CliError as error:
        skip(str(error))
    return mpi


class Run:
    """A `crossrail cluster` that is running: what it says, and how it ends."""

    def __init__(self, options, mpi, own_words, program_words, settings=()):
        program = Path(options.programs) / mpi.build / program_words[0]
        self.command = [str(TREE / "crossrail"), "cluster", "--launcher", mpi.launcher, *own_words, "--",
                        str(program), *program_words[1:]]
        environment = {**launcher_environment(mpi, several_hosts=True), "CROSSRAIL_LIBRARY_DIR": options.libraries, **dict(settings)}
        if not mpi.yields:
            environment["LD_PRELOAD"] = str(Path(options.programs) / "yield.so")
        print("+", " ".join(f"{name}={value}" for name, value in dict(settings).items()), " ".join(self.command), flush=True)
        self.text = ""
        self.seen = {}
        self.began = time.monotonic()
        self.job = subprocess.Popen(self.command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                    stdin=subprocess.DEVNULL, text=True, errors="replace", start_new_session=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.job.stdout:
            self.text += line

    def until(self, pattern, count, seconds=100.0):
        """The groups of so many matches in what was said, waiting for them; fails the test without them."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = re.findall(pattern, self.text)
            if len(found) >= count:
                return found
            time.sleep(0.02)
        self.finish(0.0)
        sys.exit(f"FAILED: '{pattern}' was not said {count} times within {seconds} s")

    def finish(self, seconds):
        """The exit code; None when it had to be ended after so many seconds."""
        code = self.wait(seconds)
        if code is None:
            judge.end_job(self.job.pid)
        self.reader.join(5)
        print(self.text, end="")
        print(f"(exit {code} after {time.monotonic() - self.began:.2f} s)", flush=True)
        return code

    def wait(self, seconds):
        """The exit code, None while it runs on after so many seconds."""
        try:
            return self.job.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self):
        """Asks it to end, which it must do."""
        self.job.send_signal(signal.SIGTERM)
        if self.finish(60) is None:
            sys.exit("FAILED: it does not end when asked to")

    @property
    def names(self):
        """The namespaces of this run that exist."""
        return [name for name in network.namespaces() if name.startswith(f"crossrail-{self.job.pid}-")]

    def left_behind(self):
        """What it left: namespaces, folders, interfaces, processes. Sentences."""
        found = [f"namespace {name}" for name in self.names]
        found += [f"folder {path}" for path in Path(tempfile.gettempdir()).glob(f"crossrail-{self.job.pid}-*")]
        found += [f"interface {name}" for name in os.listdir("/sys/class/net") if name.startswith(("bridge0", "port", "veth"))]
        found += [f"session folder {path}" for path in Path(tempfile.gettempdir()).glob(f"[op]*crossrail-{self.job.pid}-*")]
        return [f"left behind: {one}" for one in found + self.processes()]

    def remember(self):
        """Notes the processes on the hosts, which must all be gone in the end."""
        self.seen = {process: network.start_of(process) for process in network.inhabitants(self.names)}

    def processes(self):
        """The noted processes that live, after a moment for those that are ending."""
        alive = []
        for _ in range(50):
            alive = [process for process, start in self.seen.items() if network.start_of(process) == start]
            if not alive:
                break
            time.sleep(0.05)
        return [f"process {process}" for process in alive]


def kill(process, number=signal.SIGKILL):
    os.kill(int(process), number)
