#!/usr/bin/env python3
"""Where a cluster is impossible, `crossrail cluster` says why in one sentence and fails. Exit status: 0, 1, or 77."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from clusters import TREE, skip

COMMAND = [str(TREE / "crossrail"), "cluster", "-H", "2", "-n", "2", "--native", "--mpi", "openmpi", "--", "true"]


def path_without(folder, *absent):
    """A folder with links to every command on PATH but these."""
    for place in os.environ["PATH"].split(os.pathsep):
        for command in Path(place).glob("*") if Path(place).is_dir() else ():
            link = Path(folder) / command.name
            if command.name not in absent and not os.path.lexists(link):
                link.symlink_to(command)
    return folder


def complaint(what, words, path=None):
    """A sentence if `words` do not fail with one sentence on stderr."""
    done = subprocess.run(words, env={**os.environ, **({"PATH": path} if path else {})}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    print(f"{what}: exit {done.returncode}: {done.stderr.strip()}{done.stdout.strip()}")
    lines = done.stderr.strip().splitlines()
    right = done.returncode == 2 and len(lines) == 1 and lines[0].startswith("crossrail: ") and "luster" in lines[0] and not done.stdout
    return [] if right else [f"FAILED: {what}"]


def main():
    if subprocess.run([str(TREE / "crossrail"), "--version"], stdout=subprocess.DEVNULL).returncode != 0:
        skip("the command line does not start here")
    if not any(shutil.which(name) for name in ("mpirun.openmpi", "mpirun")):
        skip("there is no mpirun on this machine")
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for command in ("ip", "nsenter"):
            (Path(folder) / command).mkdir()
            wrong += complaint(f"without {command}", COMMAND, path_without(str(Path(folder) / command), command))
    if os.geteuid() != 0:
        wrong += complaint("not root", COMMAND)
    elif shutil.which("setpriv"):
        wrong += complaint("without capabilities", ["setpriv", "--bounding-set", "-sys_admin,-net_admin", *COMMAND])
        if os.access(TREE, os.R_OK | os.X_OK) and subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", "test", "-r", COMMAND[0]]).returncode == 0:
            wrong += complaint("not root", ["setpriv", "--reuid", "65534", "--clear-groups", *COMMAND])
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
