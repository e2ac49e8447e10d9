"""Parts of the commands that need neither MPI nor the built library."""

import pytest

from crossrail import cli, places
from crossrail.cli.app import main
from crossrail.cli.demo import conclusion
from crossrail.cli.information import node_numbers
from crossrail.demonstration import ENERGY, SCATTER, Outcome, same_results, seconds_of
from crossrail.errors import CliError
from crossrail.report.call_reports import add_up
from crossrail.supervise import supervise

PRINTED = """     total energy              =     -63.34513181 Ry
!    total energy              =     -63.36038035 Ry
     The total energy is the sum of the following terms:
     fft_scatt_xy :      0.02s CPU      0.25s WALL (    1078 calls)
     fft_scatt_yz :      0.06s CPU      0.50s WALL (    1078 calls)
"""


def test_nodes_of_ranks():
    assert node_numbers(4, 2, None) == [0, 0, 1, 1]
    assert node_numbers(5, 2, None) == [0, 0, 0, 1, 1]
    assert node_numbers(None, 1, "0,1,0") == [0, 1, 0]
    for ranks, nodes, listed in ((None, 1, None), (3, 1, "0,1"), (0, 1, None), (2, 3, None)):
        with pytest.raises(CliError):
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


def test_exit_codes_pass_through():
    assert supervise(["sh", "-c", "exit 7"]) == 7
    assert supervise(["sh", "-c", "kill -9 $$"]) == 137
    with pytest.raises(CliError, match="cannot be started"):
        supervise(["/nothing/here"])


def test_an_error_is_one_sentence_with_its_exit_code(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("CROSSRAIL_LIBRARY_DIR", str(tmp_path))
    assert main(["lib", "--mpi", "openmpi"]) == 2
    assert capsys.readouterr().err.startswith("crossrail: libcrossrail_mpi_openmpi.so is not in")
    assert main(["run"]) == 2
    assert main(["lib", "--mpi", "other"]) == 2


def test_the_library_folder_of_the_environment_is_the_only_one(monkeypatch, tmp_path):
    monkeypatch.setenv("CROSSRAIL_LIBRARY_DIR", str(tmp_path))
    (tmp_path / "libcrossrail_mpi_mpich.so").touch()
    assert places.built_flavours() == ["mpich"]
    assert places.preload_library("mpich") == tmp_path / "libcrossrail_mpi_mpich.so"


def test_help_of_every_command(capsys):
    for command in ("run", "lib", "info", "list", "explain", "bench", "tune", "replay", "report", "trace", "timeline", "doctor", "demo", "performance"):
        assert main([command, "--help"]) == 0
        said = capsys.readouterr().out
        assert "Usage" in said and "None]" not in said, command
    assert cli.__doc__
