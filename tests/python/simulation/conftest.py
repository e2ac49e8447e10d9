"""A program that stands in for crossrail_simulate, a catalogue, and a machine file."""

import json
import sys
from pathlib import Path

import pytest

from crossrail import core

PARAMETER = {"name": "leaders", "default": 1, "unit": "node_ranks", "values": [1, 2], "help": "of a node"}
NAMES = ("bruck", "matrix", "unfit", "broken", "wrong", "refused", "killed", "slow", "linear", "pairwise", "scatter_destination")
CATALOGUE = [{"collective": collective, "memory": "host", "name": name, "summary": "", "parameters": [PARAMETER] if name == "matrix" else []}
             for collective in ("alltoall", "allreduce") for name in NAMES]

MACHINE = """\
name = "A machine"
about = "It is made up."
ranks_per_node = 2
nodes = [2, 4]
sizes = "8-16"

[memory]
core_bandwidth = 12
shared_bandwidth = 7.5
node_bandwidth = 112
copy = 10
combine_bandwidth = 8

[flags]
other_core = 100
look = 2

[calls]
enter = 160

[local]
latency = 250
bandwidth = 6
send = 80
receive = 80

[network]
latency = 870
send = 150
receive = 150
receive_bandwidth = 10
match = 10
eager = 16384
handshake = 200
process_gap = 180
shared_by_processors = false
processor_bandwidth = 10

[adapters]
count = 1
gap = 5
bandwidth = 12.3
queue_pairs = 131072
cached = 5000  # It was measured.
miss = 35

[transport]
kind = "rc"
datagram = 4096
datagram_work = 50
reconnect = 60
contexts = 8
"""


@pytest.fixture
def machine(tmp_path):
    """Returns a function that writes the machine file with some texts replaced and returns its path."""

    def write(*replacements):
        text = MACHINE
        for old, new in replacements:
            assert old in text, old
            text = text.replace(old, new)
        path = tmp_path / "machine.toml"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def banded(machine):
    """The machine file with ranges and the best of all transports."""
    return machine(("cached = 5000", "cached = { low = 256, high = 5000 }"), ("miss = 35", 'miss = { low = 35, high = 600, source = "assumed" }'),
                   ('kind = "rc"', 'kind = "best"'))


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Puts the program where it is looked for; returns a function that tells what it was asked, one dict a run."""
    (tmp_path / "bench").mkdir()
    program = tmp_path / "bench/crossrail_simulate"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {Path(__file__).parent / 'stand_in.py'}\n")
    program.chmod(0o755)
    monkeypatch.setenv("CROSSRAIL_LIBRARY_DIR", str(tmp_path))
    monkeypatch.setenv("STAND_IN_LOG", str(tmp_path / "log"))
    monkeypatch.setattr(core, "catalogue", lambda: CATALOGUE)
    return lambda: [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
