"""What becomes of a job on device memory under an MPS daemon of its own when that is killed:

  mps_killed.py LIBRARY PROGRAM --kill control|server|both --mode abort|return|pending|finalize|probe [--ranks 2] [--launch "WORDS OF MPIRUN"]

LIBRARY is libcrossrail_mpi_openmpi.so, PROGRAM is device_mps_killed. The job must end within a minute after the kill: it goes on and all data are
right, or every rank meets an error, or one that does aborts. Without its daemon alone it must go on if the server does. `probe` has no
collectives, and shows what CUDA's own calls do then; it only fails if it cannot be made. Exits 0, 1, or 77 where it cannot be tried.
"""

import argparse
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from mps_daemon import Daemon, NoDaemon, words_of

BEGIN_S, STOP_S, BOUND_S, PROBE_S = 60.0, 4.0, 60.0, 25.0
GRACE_S = 2.0  # A server ends with its daemon, after it has told its clients.
ALONE = ["--mca", "orte_enable_recovery", "1"]  # Open MPI 4 leaves the others alone when one rank ends.
CRASHES = re.compile(r"exited on signal (?!9\b|15\b)\d+")


class Job:
    """The job: what its ranks say is printed as it comes, with the seconds since the kill, and kept."""

    def __init__(self, words, environment):
        self.began, self.killed, self.lines = time.monotonic(), None, []
        self.running = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        start_new_session=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for raw in self.running.stdout:
            self.lines.append((time.monotonic(), raw.decode(errors="replace").rstrip()))
            self.tell(self.lines[-1][1])

    def when(self, moment):
        return f"kill {moment - self.killed:+.2f} s" if self.killed else f"start {moment - self.began:+.2f} s"

    def tell(self, text):
        sys.stdout.write(f"[{self.when(time.monotonic())}] {text}\n")  # It is one write, since two threads write.
        sys.stdout.flush()

    def said(self, pattern):
        """{rank: what it said} of lines "rank N: ...", the first of each rank."""
        found = {}
        for moment, line in list(self.lines):
            match = re.match(rf"rank (\d+): {pattern}", line)
            if match:
                found.setdefault(int(match.group(1)), (moment, match.group(match.lastindex)))
        return found

    def any_line(self, pattern):
        return next((line for _, line in list(self.lines) if re.search(pattern, line)), None)

    def ended(self):
        return self.running.poll() is not None

    def wait(self, until, reason=lambda: False):
        """Whether it has ended by then; it is not waited for any longer where there is another reason."""
        while not self.ended() and time.monotonic() < until and not reason():
            time.sleep(0.02)
        return self.ended()

    def alive(self, program):
        """{rank: process} of ranks that have not ended."""
        name = os.path.basename(program)
        told = {rank: int(process) for rank, (_, process) in self.said(r"process (\d+)").items()}
        return {rank: process for rank, process in told.items() if any(os.path.basename(word) == name for word in words_of(process)[:2])}

    def end(self, program):
        """Ends whatever of it is still there."""
        if not self.ended():
            self.running.terminate()
            self.wait(time.monotonic() + 5)
        for process in self.alive(program).values():
            os.kill(process, signal.SIGKILL)
        self.wait(time.monotonic() + 5)
        if not self.ended():
            os.killpg(self.running.pid, signal.SIGKILL)
        self.reader.join(5)


class Servers:
    """When the daemon's servers were seen to have ended, by themselves or not."""

    def __init__(self, processes):
        self.processes, self.gone = processes, None

    def look(self):
        if self.gone is None and not any(words_of(process) for process in self.processes):
            self.gone = time.monotonic()

    def live_on(self, moment):
        """Whether they are still there some time after that moment."""
        while self.gone is None and time.monotonic() < moment + GRACE_S:
            self.look()
            time.sleep(0.02)
        return self.gone is None or self.gone > moment + GRACE_S


def read_or_empty(path):
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def show_hanging(job, program):
    """Where its ranks are, by the kernel and by themselves."""
    for rank, process in sorted(job.alive(program).items()):
        for thread in sorted(Path(f"/proc/{process}/task").glob("*")):
            state = re.search(r"State:\s*(.*)", read_or_empty(thread / "status"))
            stack = " < ".join(re.findall(r"\] (\S+?)\+", read_or_empty(thread / "stack"))[:6])
            job.tell(f"    rank {rank}, thread {read_or_empty(thread / 'comm')}: {state.group(1) if state else '?'}, {read_or_empty(thread / 'wchan')} {stack}")
        os.kill(process, signal.SIGUSR1)
    time.sleep(2)  # They say where they are.


def begin(job, wanted):
    """Until all ranks are in their loops. What keeps them from it, if anything, and the exit code for that."""
    over = job.wait(time.monotonic() + BEGIN_S, lambda: len(job.said(r"(goes on)")) == wanted.ranks)
    if over:
        job.reader.join(5)  # What it said last may not have been read.
    if job.any_line(r"^skipped"):
        return "skipped: CUDA finds no GPU under the MPS daemon, and nothing could be tried", 77
    if over:
        return f"FAIL: the job ended before anything was killed, exit code {job.running.returncode}", 1
    if len(job.said(r"(goes on)")) < wanted.ranks:
        show_hanging(job, wanted.program)
        return f"FAIL: the ranks were not in their loops after {BEGIN_S:.0f} s", 1
    return None, 0


def hanging(job, wanted):
    """What is to be said of a job that is still there when it must have ended."""
    moment = job.when(time.monotonic())
    show_hanging(job, wanted.program)
    where = ", ".join(f"rank {rank} in {place}" for rank, (_, place) in sorted(job.said(r"has got signal \d+ in (.*?), round").items()))
    silent = sorted(set(job.alive(wanted.program)) - set(job.said(r"(has got signal)")))
    return f"still there at {moment}: {where or 'no rank answers'}{f'; ranks {silent} do not answer' if silent else ''}"


def faults(job, wanted, servers):
    """All that is wrong with how the job has ended."""
    ends = job.said(r"ended: (.*)")
    missing = [rank for rank in range(wanted.ranks) if rank not in ends]
    right = all(text.startswith("right") for _, text in ends.values()) and not missing
    aborted = job.any_line(r"^rank \d+: ended: .*MPI_Abort") or job.any_line(r"An error occurred in MPI_")
    wrong = [line for line in (job.any_line(r"WRONG"), job.any_line(CRASHES.pattern)) if line]
    left = job.alive(wanted.program)
    if left:
        wrong.append(f"processes of ranks {sorted(left)} outlive mpirun")
    if missing and not aborted:
        wrong.append(f"ranks {missing} have not said how they ended, and none has aborted")
    first_error = min((moment for moment, text in ends.values() if not text.startswith("right")), default=time.monotonic())
    if wanted.kill == "control" and not right and servers.live_on(first_error):
        wrong.append("without its daemon alone, while the server lived, the job has met an error")
    if right and job.running.returncode != 0:
        wrong.append(f"all was right, but the exit code is {job.running.returncode}")
    return wrong


def outcome(job, wanted):
    """In one line: how it ended, and how late."""
    ends = job.said(r"ended: (.*)")
    late = max([moment for moment, _ in ends.values()], default=job.killed) - job.killed
    errors = sum(not text.startswith("right") for _, text in ends.values())
    how = "all ranks went on and were right" if ends and not errors and len(ends) == wanted.ranks else f"{errors} of {wanted.ranks} ranks met an error"
    return f"{how}, the last said so {late:.1f} s after the kill; the job ended {time.monotonic() - job.killed:.1f} s after it"


def probed(job, wanted):
    if job.ended():
        return "pass: CUDA's calls have all returned", 0
    where = job.said(r"calls (.*)")
    show_hanging(job, wanted.program)
    return f"pass: CUDA itself has not returned {PROBE_S:.0f} s after the kill, ranks {sorted(where)}: see their last calls above", 0


def judge(job, wanted, daemon):
    """Kills, waits, and judges: what is to be said, and the exit code."""
    why, code = begin(job, wanted)
    if why:
        return why, code
    time.sleep(random.uniform(0.3, 1.0))
    servers = Servers(daemon.servers())
    if not servers.processes:
        return "FAIL: the daemon has no server: the ranks do not use it", 1
    killed_at = time.monotonic()
    victims = daemon.kill(wanted.kill)
    job.killed = killed_at
    job.tell(f"killed: {', '.join(f'{name} {process}' for process, name in victims.items())}")
    bound = job.killed + (PROBE_S if wanted.mode == "probe" else BOUND_S)
    if not job.wait(job.killed + STOP_S, servers.look):
        (daemon.folder / "stop").touch()
    job.wait(bound, servers.look)
    if wanted.mode == "probe":
        return probed(job, wanted)
    if not job.ended():
        return f"FAIL: {hanging(job, wanted)}", 1
    job.reader.join(5)
    wrong = faults(job, wanted, servers)
    life = f"has ended {servers.gone - job.killed:.2f} s after the kill" if servers.gone else "lives"
    job.tell(f"the server {life}; mpirun's exit code {job.running.returncode}")
    return f"FAIL: {'; '.join(wrong)} ({outcome(job, wanted)})" if wrong else f"pass: {outcome(job, wanted)}", 1 if wrong else 0


def command(wanted, daemon):
    words = ["mpirun", "--allow-run-as-root", "--oversubscribe", *shlex.split(wanted.launch), *(ALONE if wanted.mode in ("return", "pending", "probe") else []),
             "-n", str(wanted.ranks)]
    for name in daemon.places:
        words += ["-x", name]
    if wanted.mode != "probe":
        words += ["-x", f"LD_PRELOAD={os.path.abspath(wanted.library)}"]
    return [*words, os.path.abspath(wanted.program), wanted.mode, str(daemon.folder / "stop")]


def attempt(wanted):
    with Daemon() as daemon:
        words = command(wanted, daemon)
        print(shlex.join(words), flush=True)
        job = Job(words, {**os.environ, **daemon.places})
        try:
            said, code = judge(job, wanted, daemon)
        finally:
            job.end(wanted.program)
        if code != 0:
            for line in daemon.last_words(12):
                print(f"    {line}", flush=True)
        return said, code


def end_now(*_):
    raise SystemExit("device_mps_killed: ended from outside")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("program")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--kill", choices=("control", "server", "both"), required=True)
    parser.add_argument("--mode", choices=("abort", "return", "pending", "finalize", "probe"), required=True)
    parser.add_argument("--launch", default="")
    wanted = parser.parse_args()
    signal.signal(signal.SIGTERM, end_now)
    try:
        said, code = attempt(wanted)
    except NoDaemon as why:
        said, code = f"skipped: {why}", 77
    print(said if code == 77 else f"device_mps_killed, {wanted.kill} killed, {wanted.mode}, {wanted.ranks} ranks: {said}", flush=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
