"""`crossrail tune --helpers-per-gpu` without a GPU: how many processes of a rank share long messages is a choice like any other."""

import pytest

from crossrail import core
from crossrail.bench.request import BenchRequest, Effort, What, Where
from crossrail.cli.tune import TuneRequest, identity
from crossrail.errors import CliError
from crossrail.tuning.campaign import Campaign, Context, Goal
from crossrail.tuning.candidates import Layout, candidates, chosen_now, effect, parse_algorithms
from crossrail.tuning.record import Record
from crossrail.tuning.table import Tuned, all_rows

SIZES = [1 << power for power in range(16, 22)]
PROCESSES = (1, 2, 4)
TWO_NODES = Layout(2, 2, 1, "device", processes=PROCESSES)


@pytest.fixture(autouse=True)
def engine(monkeypatch):
    """Between nodes multi_lane moves device memory; the table says eight processes at all sizes."""
    shared = [{"name": "processes", "default": 1, "unit": "processes", "values": [1, 2, 4, 8], "help": ""}, {"name": "part", "default": 512 << 10, "unit": "bytes", "values": [], "help": ""}]
    rows = [{"collective": "allreduce", "memory": memory, "name": name, "parameters": parameters} for memory, name, parameters in (
        ("host", "ring", []), ("host", "multi_lane", shared), ("device", "two_shot_pull", []))]

    def explain(question):
        several = any(question.node_of)
        listed = [{"algorithm": "multi_lane" if several else "two_shot_pull", "origin": "default.csv:64", "parameters": {"processes": 8, "part": 1 << 20} if several else {}}]
        unfit = "two_shot_pull" if several else "multi_lane"
        return {"candidates": [*listed, {"algorithm": "native", "origin": "last row"}], "passed_over": [{"algorithm": unfit, "why": "does not fit this layout and size"}]}

    monkeypatch.setattr(core, "catalogue", lambda: rows)
    monkeypatch.setattr(core, "explain", explain)


def test_between_nodes_those_that_take_device_memory_are_tried():
    eight, four, two, one = (f"multi_lane part=1M{more}" for more in (" processes=8", " processes=4", " processes=2", ""))
    # With three helpers eight are no more than four.
    assert candidates("allreduce", TWO_NODES, 1 << 20) == [one, two, eight]
    assert effect("allreduce", TWO_NODES, eight, 1) == effect("allreduce", TWO_NODES, four, 1) != effect("allreduce", TWO_NODES, one, 1)
    assert candidates("allreduce", Layout(2, 2, 1, "device"), 1 << 20) == [eight]  # Without helpers all do the same.
    assert candidates("allreduce", Layout(2, 1, 2, "device", processes=PROCESSES), 1 << 20) == ["two_shot_pull"]
    assert chosen_now("allreduce", TWO_NODES, 1, "multi_lane") == eight and chosen_now("allreduce", TWO_NODES, 1, "ring") == "native"


def test_they_can_be_named():
    assert parse_algorithms("allreduce", "multi_lane processes=2", "device") == ["multi_lane processes=2"]
    for wrong in ("ring", "multi_lane lanes=2"):
        with pytest.raises(CliError, match="no algorithm|no parameter"):
            parse_algorithms("allreduce", wrong, "device")


class Machine:
    """Stands for the bench on two nodes with three helper processes: one process is best to 128 KiB, four from 512 KiB on."""

    def __call__(self, contenders, sizes):
        def time(name, size):
            count = 4 if name == "auto" else min(4, int((name.partition("processes=")[2] or "1").split()[0]))
            return 20 + 10 * count + size / 20e3 / count

        rows = [{"bytes": size, "contender": name, "algorithm": "multi_lane", "p50_us": time(name, size), "wrong": 0} for size in sizes for name in contenders]
        return {"nodes": 2, "ranks_per_node": 1, "mpi": "MPI", "memory": "cuda", "device": "H100", "results": rows}


def test_one_process_is_a_row_like_any_other(tmp_path):
    goal = Goal("allreduce", 2, SIZES, 3, None, "device", False, PROCESSES)
    campaign = Campaign(goal, Context(Machine(), Record(tmp_path / "record.jsonl", {}, False)))
    campaign.run()
    rows = all_rows([Tuned("allreduce", campaign.layout, campaign.ranges())])
    assert rows[0] == ["allreduce", "device", "*", "2", "1", "1", "256K", "multi_lane", "part=1M"]
    assert [row[-2:] for row in rows[1:]] == [["multi_lane", "part=1M processes=2"], ["multi_lane", "part=1M processes=8"]]


def test_other_numbers_are_another_run(tmp_path):
    def request(*helpers):
        return TuneRequest(BenchRequest(What("allreduce", memory="cuda"), Where(0), Effort()), [2], SIZES, 3, None, tmp_path / "t.csv", "crossrail tune", True, helpers)

    assert request(0, 3).processes == (1, 4) and request().processes == (1,)
    assert identity(request(0, 3), {}) != identity(request(0, 1), {}) and "helpers" not in identity(request(), {})
