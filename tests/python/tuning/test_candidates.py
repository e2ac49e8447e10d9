"""What `crossrail tune` tries, from a small catalogue."""

import pytest

from crossrail import core
from crossrail.errors import CliError
from crossrail.tuning.candidates import Layout, candidates, chosen_now, effect, parse_algorithms, variants
from crossrail.tuning.decision import Evidence, unify


def declared(name, default, unit, *values):
    """A parameter of the catalogue."""
    return {"name": name, "default": default, "unit": unit, "values": list(values), "help": ""}


PARAMETERS = {
    "linear": [],
    "scatter_destination": [declared("throttle", 32, "ranks", 4, 32)],
    "node_shared": [declared("packet", 1024, "row_bytes", 512, 1024, 2048), declared("chunk", 1 << 15, "bytes")],
    "leader_pipelined": [declared("leaders", 1, "node_ranks", 1, 4), declared("ahead", 16, "nodes", 1, 16)],
}


@pytest.fixture
def library(monkeypatch):
    """A small catalogue of algorithms for host memory."""
    rows = [{"collective": "alltoall", "memory": "host", "name": name, "summary": "", "parameters": parameters} for name, parameters in PARAMETERS.items()]
    monkeypatch.setattr(core, "catalogue", lambda: rows)


def test_the_same_doing_has_one_name(library):
    layout = Layout(4, 1, 4)
    small, large = "node_shared packet=512", "node_shared packet=2K"

    def same(size):
        return effect("alltoall", layout, small, size) == effect("alltoall", layout, large, size)

    assert [same(size) for size in (128, 256, 512, 1024)] == [True, False, False, True]
    assert effect("alltoall", layout, "scatter_destination throttle=4", 1) == effect("alltoall", layout, "scatter_destination", 1)
    assert effect("alltoall", Layout(4, 2, 2), "leader_pipelined leaders=8", 1) == effect("alltoall", Layout(4, 2, 2), "leader_pipelined ahead=16 leaders=2", 1)
    where = Evidence(5, {}, lambda spec, size: effect("alltoall", layout, spec, size))
    assert unify(where, {128: small, 256: large, 512: large, 1024: small}) == {128: large, 256: large, 512: large, 1024: large}


def test_candidates_are_what_fits_with_one_parameter_changed(library, monkeypatch):
    monkeypatch.setattr(core, "explain", lambda question: {
        "candidates": [{"algorithm": "bruck", "origin": "setting"}, {"algorithm": "node_shared", "origin": "default.csv:8", "parameters": {"chunk": 1 << 15, "packet": 512}}],
        "passed_over": [{"algorithm": "leader_pipelined", "why": "does not fit this layout and size"}, {"algorithm": "linear", "why": "no row"}]})
    layout = Layout(4, 1, 4)
    assert candidates("alltoall", layout, 256) == ["linear", "scatter_destination", "node_shared packet=512", "node_shared"]
    assert candidates("alltoall", layout, 4096) == ["linear", "scatter_destination", "node_shared packet=512"]
    assert candidates("alltoall", Layout(8, 1, 8), 4096, ["scatter_destination"]) == ["scatter_destination", "scatter_destination throttle=4"]
    assert candidates("alltoall", layout, 64, ["node_shared chunk=4K", "leader_pipelined"]) == ["node_shared chunk=4K"]
    assert chosen_now("alltoall", layout, 1) == "node_shared packet=512"
    assert chosen_now("alltoall", layout, 1, "native") == "native"
    with pytest.raises(CliError):
        parse_algorithms("alltoall", "node_share")
    with pytest.raises(CliError, match="linear has no parameter 'packet'"):
        parse_algorithms("alltoall", "linear packet=1K")


def test_other_parameters_stay_as_they_are(library):
    layout = Layout(8, 2, 4)
    assert variants("alltoall", layout, "leader_pipelined", "leader_pipelined ahead=2 leaders=8") == [
        "leader_pipelined ahead=2 leaders=8", "leader_pipelined ahead=2", "leader_pipelined ahead=2 leaders=4", "leader_pipelined ahead=1 leaders=8",
        "leader_pipelined leaders=8"]
    assert variants("alltoall", layout, "leader_pipelined", "bruck") == ["leader_pipelined", "leader_pipelined leaders=4", "leader_pipelined ahead=1"]
    assert variants("alltoall", layout, "linear", "bruck") == ["linear"]
