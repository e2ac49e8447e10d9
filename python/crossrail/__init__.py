"""crossrail: the command line and its parts.

`python -m crossrail --help`, or `./crossrail --help` from the tree. Packages import only those above them in this list:

    (top)      errors, sizes, places, core, collectives, flavours, launchers, supervise, jobs, console
    machine    what this machine is, and what works on it
    cluster    hosts that live on this machine
    bench      requests, running bench programs, measurements
    simulation machines as files, and ranks that are simulated
    report     tables, charts, pages
    tuning     measuring in rounds, deciding, tables for CROSSRAIL_TUNING
    cli        the commands, one file each, on Typer; no command imports another one
"""

__version__ = "0.1.0"
