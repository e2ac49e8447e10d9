"""Jobs of helper processes beside a test's program, as 'crossrail run --helpers-per-gpu' starts them."""
import os
import select
import subprocess
import threading
import time
from pathlib import Path

import judge
from mpis import launcher_environment

START_S = 60


class HelperProcesses:
    """While it lasts there are `jobs` of them; `settings` names them, and `missing` more, to the program's ranks. `kill_after` (seconds):
    one process of the first job is killed then."""

    def __init__(self, mpi, options):
        self.mpi, self.options = mpi, options
        self.key = os.urandom(8).hex()
        self.jobs = []

    @property
    def settings(self):
        return [f"CROSSRAIL_HELPERS={self.key}:{self.options.helpers + self.options.missing_helpers}"] if self.options.helpers else []

    def __enter__(self):
        build = Path(self.options.programs).parents[2]
        program = build / "bench" / f"helper_{self.mpi.flavour}"
        for number in range(self.options.helpers):
            command = [self.mpi.launcher, *self.mpi.launcher_args, "-n", str(self.options.n), str(program), self.key, str(number)]
            self.jobs.append(subprocess.Popen(command, env=launcher_environment(self.mpi), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                              stderr=subprocess.DEVNULL, start_new_session=True))
        for job in self.jobs:
            ready, _, _ = select.select([job.stdout], [], [], START_S)
            said = os.read(job.stdout.fileno(), 100) if ready else b""
            assert b"ready" in said, f"the helper processes say {said!r}"
        if self.options.kill_helper:
            threading.Timer(self.options.kill_helper, self.kill_one).start()
        return self

    def kill_one(self):
        found = subprocess.run(["pgrep", "-f", f"helper_.* {self.key} 0$"], capture_output=True, text=True, check=False).stdout.split()
        for process in sorted(map(int, found), reverse=True):
            if Path(f"/proc/{process}/comm").read_text().startswith("helper_"):
                print(f"(killing helper process {process})", flush=True)
                os.kill(process, 9)
                return

    def __exit__(self, *_problem):
        for job in self.jobs:
            job.terminate()
        until = time.monotonic() + 5
        for job in self.jobs:
            try:
                job.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
            judge.end_job(job.pid)
            job.wait()
