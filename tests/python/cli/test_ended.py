"""A command that a signal ends: what was temporary is gone."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

# This is the command line, with a command in place of its own that has a job's folder.
COMMAND = """
import sys, time
from crossrail.cli import app
from crossrail.job_folder import job_folder
from crossrail.launchers import Launcher

def with_a_folder(words):
    try:
        with job_folder(Launcher("/bin/true", "openmpi"), []) as folder:
            print(folder, flush=True)
            time.sleep(60)
    except SystemExit as stop:
        return stop.code

app.run = with_a_folder
sys.exit(app.main([]))
"""


@pytest.mark.parametrize("number", (signal.SIGTERM, signal.SIGHUP))
def test_a_signal_leaves_no_folder(number, tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", COMMAND], env=environment, stdout=subprocess.PIPE) as started:
        folder = Path(started.stdout.readline().decode().strip())
        assert folder.is_dir() and folder.parent == tmp_path
        started.send_signal(number)
        assert started.wait(30) == 128 + number
    assert not folder.exists()


def test_what_somebody_ignores_stays_ignored(tmp_path):
    command = COMMAND.replace("time.sleep(60)", "__import__('os').kill(__import__('os').getpid(), 1)")
    done = subprocess.run(["nohup", sys.executable, "-c", command], env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0 and not list(tmp_path.glob("crossrail.*"))
