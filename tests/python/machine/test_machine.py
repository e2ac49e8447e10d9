"""This machine: its picture, and what `crossrail doctor` finds."""

from crossrail.machine import health
from crossrail.machine.neighbours import try_neighbours
from crossrail.machine.picture import draw_machine, parse_processors

MACHINE = {"packages": 2, "cores": 4, "threads": 8, "host": "h<1>", "cpu": "a processor", "memory_bytes": 1 << 34,
           "domains": [{"number": 0, "cpus": "0-3", "memory_bytes": 1 << 33}, {"number": 1, "cpus": "4-7", "memory_bytes": 1 << 33}],
           "caches": [{"level": 2, "bytes": 1 << 20, "count": 4}], "gpus": [{"name": "cuda0", "model": "H200", "domain": 1}],
           "nics": [{"name": "eth0", "domain": -1}]}


def test_the_picture_is_escaped_and_has_every_device():
    picture = draw_machine(MACHINE)
    assert "h&lt;1&gt;" in picture and "cuda0 H200" in picture and "eth0" in picture
    assert picture.count('class="core"') == 8 + 1  # One is the legend's.
    assert parse_processors("0-2,8") == [0, 1, 2, 8] and parse_processors("") == []


def test_quota():
    assert health.quota_cores("200000 100000\n") == 2.0
    assert health.quota_cores("max 100000\n") is None


def test_shared_memory_findings(tmp_path):
    assert health.check_shared_memory(tmp_path / "missing")[0].level == health.NOTE
    assert health.check_shared_memory(tmp_path)[0].words.startswith(str(tmp_path))


def test_the_neighbours_trial_ends():
    trial = try_neighbours()
    assert isinstance(trial.single_copy, str) and isinstance(trial.memfd, str)
