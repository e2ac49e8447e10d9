"""An MPS daemon in a private folder, whose processes can be found and killed. It ends with the process that has started it, however that ends."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

CONTROL, SERVER = "nvidia-cuda-mps-control", "nvidia-cuda-mps-server"
ANSWER_S = 20.0
ENDING = 'cat >/dev/null; echo "quit -t 1" | timeout 10 "$0" >/dev/null 2>&1; rm -rf "$1"'
NOT_FOR_THE_DAEMON = ("LD_PRELOAD", "CUDA_VISIBLE_DEVICES")


class NoDaemon(Exception):
    """Why there is none here."""


def words_of(process):
    """The command line of a process; empty where it has ended."""
    try:
        return [word.decode(errors="replace") for word in Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0") if word]
    except OSError:
        return []


class Daemon:
    def __init__(self):
        self.program = shutil.which(CONTROL)
        if not self.program:
            raise NoDaemon(f"no {CONTROL} on PATH")
        self.folder = Path(tempfile.mkdtemp(prefix="crossrail.mps.", dir="/tmp"))  # Names of sockets must be short.
        self.places = {f"CUDA_MPS_{what.upper()}_DIRECTORY": str(self.folder / what) for what in ("pipe", "log")}
        for place in self.places.values():
            os.mkdir(place)
        self.environment = {**{name: value for name, value in os.environ.items() if name not in NOT_FOR_THE_DAEMON}, **self.places}
        self.ending = subprocess.Popen(["sh", "-c", ENDING, self.program, str(self.folder)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, env=self.environment, start_new_session=True)

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def control(self, words, text=""):
        """What the control program says, and whether it has done what it was told."""
        said = self.folder / "said"
        with open(said, "wb") as to:  # This is not a pipe: the daemon may keep it open.
            try:
                done = subprocess.run([self.program, *words], input=text.encode(), env=self.environment, stdout=to, stderr=to, timeout=ANSWER_S,
                                      check=False, start_new_session=True).returncode == 0
            except (OSError, subprocess.TimeoutExpired):
                done = False
        return done, said.read_text(errors="replace").strip()

    def start(self):
        started, said = self.control(["-d"])
        answers, more = self.control([], "get_server_list\n") if started else (False, "")
        if not answers:
            raise NoDaemon(f"the MPS daemon does not start: {said} {more} {' | '.join(self.last_words(3))}")

    def processes(self, name):
        """Those of this daemon by the name of their program: they have its folder in their environment."""
        mark = f"CUDA_MPS_PIPE_DIRECTORY={self.places['CUDA_MPS_PIPE_DIRECTORY']}".encode()
        found = []
        for process in (int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()):
            try:
                ours = mark in Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if ours and any(os.path.basename(word) == name for word in words_of(process)[:2]):
                found.append(process)
        return found

    def servers(self):
        """Its servers: those it tells of, and those that are found."""
        told = [int(word) for word in self.control([], "get_server_list\n")[1].split() if word.isdigit()] if self.processes(CONTROL) else []
        return sorted({*(one for one in told if words_of(one)), *self.processes(SERVER)})

    def kill(self, whom):
        """Kills "control", "server" or "both", the daemon first: it would start another server. Returns when they have gone: {process: name}."""
        victims = {}
        servers = self.servers() if whom != "control" else []
        for process in self.processes(CONTROL) if whom != "server" else []:
            victims[process] = CONTROL
        victims.update((process, SERVER) for process in servers)
        for process in victims:
            os.kill(process, signal.SIGKILL)
        until = time.monotonic() + 5
        while any(words_of(process) for process in victims) and time.monotonic() < until:
            time.sleep(0.005)
        return victims

    def last_words(self, lines):
        """The end of its logs."""
        found = []
        for log in ("control.log", "server.log"):
            try:
                found += [f"{log}: {line}" for line in (self.folder / "log" / log).read_text(errors="replace").splitlines()[-lines:]]
            except OSError:
                pass
        return found

    def close(self):
        for name in (CONTROL, SERVER):
            for process in self.processes(name):
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self.ending.stdin.close()
        try:
            self.ending.wait(ANSWER_S)
        except subprocess.TimeoutExpired:
            print(f"the folder {self.folder} is still there", flush=True)
