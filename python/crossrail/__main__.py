"""Start of `python -m crossrail`, and of `python path/to/crossrail`, which the script in the root uses."""

import sys
from pathlib import Path

if not __package__:
    # Started as a folder: its parent is what must be searched, and PYTHONPATH would reach the ranks.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)


def start() -> int:
    """The command line; Ctrl-C may come while it is still being loaded."""
    try:
        from crossrail.cli.app import main

        return main()
    except KeyboardInterrupt:
        print("crossrail: Stopped.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(start())
