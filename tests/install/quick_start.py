"""quick_start.py PAGE BUILD FOLDER: runs the commands of PAGE (docs/quick_start.md, docs/index.md) in a home folder of its own and compares what they print.

All but `make`: BUILD is what it has made. Numbers may differ. Exits 77 (skipped) where there is no mpicc on PATH.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path


def pattern(line: str) -> str:
    """What stands for a line that is expected: any numbers, any space."""
    words = re.sub(r"\d+(\.\d+)?(e-?\d+)?", "0", line).replace("│", " ").split()
    return r"[\s│]*".join(re.escape(word).replace("0", r"[0-9.e-]+") for word in words)


def main() -> int:
    page, build, folder = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
    if shutil.which("mpicc") is None:
        print("skipped: no mpicc on PATH")
        return 77
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "build").symlink_to(build)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CROSSRAIL", "DESTDIR"))}
    path = f"{folder}/opt/crossrail/bin:{Path(sys.executable).parent}:{environment['PATH']}"
    environment.update(HOME=str(folder), PATH=path, COLUMNS="200")
    if os.geteuid() == 0:  # Open MPI wants to be asked twice.
        environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    printed = ""
    for language, block in re.findall(r"```(sh|text)\n(.*?)```", page.read_text(), flags=re.S):
        if language == "text":
            for line in block.strip().splitlines():
                if not re.search(pattern(line), printed):
                    print(f"WRONG: nothing like '{line}' was printed, but:\n{printed}")
                    return 1
            continue
        commands = "\n".join(line for line in block.splitlines() if line.strip() != "make")
        done = subprocess.run(["bash", "-e", "-c", commands], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=120, check=False)
        printed = done.stdout
        # crossrail doctor tells what is wrong with this machine.
        if done.returncode != 0 and not commands.startswith("crossrail doctor"):
            print(f"WRONG: exit code {done.returncode} of\n{commands}\n{printed}")
            return 1
    print("all commands of the page do what it says")
    return 0


if __name__ == "__main__":
    sys.exit(main())
