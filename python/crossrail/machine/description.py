"""This machine as results name it."""

import socket
from pathlib import Path
from typing import Any, Dict, Optional

from crossrail import core
from crossrail.errors import CliError


def processor_name() -> str:
    """The processor as Linux names it, '' where it does not."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def describe_machine(name: Optional[str]) -> Dict[str, Any]:
    """The machine as hwloc sees it, under the user's name for it; host and processor only where hwloc is missing."""
    try:
        machine = core.machine()
    except CliError:
        machine = {"host": socket.gethostname(), "cpu": processor_name()}
    return {**machine, **({"name": name} if name else {})}
