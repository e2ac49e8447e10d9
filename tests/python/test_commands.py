"""Parts of the commands that need neither MPI nor the built library."""

import pytest

from crossrail import cli, health, places
from crossrail.cli.app import main
from crossrail.cli.demo import conclusion
from crossrail.cli.information import node_numbers
from crossrail.call_reports import add_up
from crossrail.demonstration import ENERGY, SCATTER, Outcome, same_results, seconds_of
from crossrail.machine_picture import draw_machine, parse_processors
from crossrail.neighbours import try_neighbours
from crossrail.problem import Problem
from crossrail.supervise import supervise

PRINTED = """     total energy              =     -63.34513181 Ry
!    total energy              =     -63.36038035 Ry
     The total energy is the sum of the following terms:
     fft_scatt_xy :      0.02s CPU      0.25s WALL (    1078 calls)
     fft_scatt_yz :      0.06s CPU      0.50s WALL (    1078 calls)
"""
MACHINE = {"packages": 2, "cores": 4, "threads": 8, "host": "h<1>", "cpu": "a processor", "memory_bytes": 1 << 34,
           "domains": [{"number": 0, "cpus": "0-3", "memory_bytes": 1 << 33}, {"number": 1, "cpus": "4-7", "memory_bytes": 1 << 33}],
           "caches": [{"level": 2, "bytes": 1 << 20, "count": 4}], "gpus": [{"name": "cuda0", "model": "H200", "domain": 1}],
           "nics": [{"name": "eth0", "domain": -1}]}


def test_nodes_of_ranks():
    assert node_numbers(4, 2, None) == [0, 0, 1, 1]
    assert node_numbers(5, 2, None) == [0, 0, 0, 1, 1]
    assert node_numbers(None, 1, "0,1,0") == [0, 1, 0]
    for ranks, nodes, listed in ((None, 1, None), (3, 1, "0,1"), (0, 1, None), (2, 3, None)):
        with pytest.raises(Problem):
            node_numbers(ranks, nodes, listed)


def test_what_is_read_from_espresso():
    assert len(ENERGY.findall(PRINTED)) == 2
    assert seconds_of(SCATTER, PRINTED) == 0.75
    assert seconds_of(None, PRINTED) is None


def outcome(results, code=0, carried=0):
    """A run that printed these results and carried so many calls."""
    calls = [{"name": "MPI_Alltoall", "carried": carried, "native": 0, "algorithms": {}}]
    return Outcome(code, 1.0, results, None, "", add_up([{"world_size": 1, "calls": calls}]))


def test_results_must_agree_and_exist():
    assert same_results([outcome(["a"]), outcome(["a"])])
    assert not same_results([outcome(["a"]), outcome(["b"])])
    assert not same_results([outcome([]), outcome([])])
    assert not same_results([outcome(["a"]), outcome(["a"], code=1)])


def test_the_demo_fails_when_nothing_was_carried():
    assert conclusion([outcome(["a"])], [outcome(["a"], carried=3)])[0]
    assert not conclusion([outcome(["a"])], [outcome(["a"])])[0]
    assert not conclusion([outcome(["a"])], [outcome(["b"], carried=3)])[0]
    assert not conclusion([outcome(["a"]), outcome(["b"])], [outcome(["a"], carried=3)])[0]


def test_the_picture_is_escaped_and_has_every_device():
    picture = draw_machine(MACHINE)
    assert "h&lt;1&gt;" in picture and "cuda0 H200" in picture and "eth0" in picture
    assert picture.count('class="core"') == 8 + 1  # and the legend's
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


def test_exit_codes_pass_through():
    assert supervise(["sh", "-c", "exit 7"]) == 7
    assert supervise(["sh", "-c", "kill -9 $$"]) == 137
    with pytest.raises(Problem, match="cannot be started"):
        supervise(["/nothing/here"])


def test_a_problem_is_one_sentence_and_exit_code_1(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("CROSSRAIL_LIBRARY_DIR", str(tmp_path))
    assert main(["lib", "--mpi", "openmpi"]) == 1
    assert capsys.readouterr().err.startswith("crossrail: libcrossrail_mpi_openmpi.so is not in")
    assert main(["run"]) == 1
    assert main(["lib", "--mpi", "other"]) == 1


def test_the_library_folder_of_the_environment_is_the_only_one(monkeypatch, tmp_path):
    monkeypatch.setenv("CROSSRAIL_LIBRARY_DIR", str(tmp_path))
    (tmp_path / "libcrossrail_mpi_mpich.so").touch()
    assert places.built_flavours() == ["mpich"]
    assert places.preload_library("mpich") == tmp_path / "libcrossrail_mpi_mpich.so"


def test_help_of_every_command(capsys):
    for command in ("run", "lib", "info", "list", "explain", "bench", "tune", "doctor", "demo", "performance"):
        assert main([command, "--help"]) == 0
        assert "Usage" in capsys.readouterr().out, command
    assert cli.__doc__
