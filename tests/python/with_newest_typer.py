"""The command line's tests once more, with the newest Typer and Rich that PyPI has: those who install by pip have these.

    with_newest_typer.py FOLDER     where they are kept. Exits 77 where they cannot be fetched.
"""
import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent / "cli"
OTHERS = TESTS / "test_settings_shown.py"  # They test the library's words, not the parser's.


def fetched(folder: Path) -> bool:
    """Whether the packages are in the folder. Once there, they stay, so that this works without network."""
    complete = folder / "complete"
    if not complete.exists():
        done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--upgrade", "--target", str(folder), "typer", "rich"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            print(done.stdout[-500:])
            return False
        complete.touch()
    return True


def main() -> int:
    """The exit code."""
    folder = Path(sys.argv[1])
    if not fetched(folder):
        print("skipped: the newest Typer cannot be fetched from PyPI")
        return 77
    path = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TESTS, "--ignore", OTHERS], check=False,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(path)}).returncode


if __name__ == "__main__":
    sys.exit(main())
