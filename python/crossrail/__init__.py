"""crossrail: the command line and its parts.

`python -m crossrail --help`, or `./crossrail --help` from the tree. The modules here know nothing of
Typer; the commands are in `crossrail.cli`, one file a command.
"""

__version__ = "0.1.0"
