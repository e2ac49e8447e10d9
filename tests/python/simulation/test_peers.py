"""Peers of a simulation: what they choose, what the program is asked, and what is refused because it would need too much memory."""

import json

import pytest

from crossrail import core
from crossrail.cli.app import main
from crossrail.errors import CliError
from crossrail.simulation.peers import MOST_AT_ONCE, OPENMPI5, PEERS, at_once, check_peer, choices_of, contender_lines, peer_notes, peers_for, refusal


def chosen(name, ranks, size):
    """What a peer runs at a size."""
    return next(algorithm for up_to, algorithm in choices_of(name, ranks) if up_to is None or size <= up_to)


@pytest.mark.parametrize("ranks, size, algorithm", [
    (2, 1, "linear"), (7, (512 << 10) - 1, "linear"), (7, 512 << 10, "pairwise"), (7, 1 << 20, "linear"), (8, 1, "linear"), (15, 1 << 30, "linear"),
    (16, 3, "linear"), (16, 4, "bruck"), (31, 511, "bruck"), (31, 512, "linear"), (63, 511, "bruck"), (64, 512, "bruck"), (64, 1024, "linear"), (200, 256 << 10, "pairwise"),
    (256, (32 << 10) - 1, "linear"), (511, 32 << 10, "pairwise"), (512, 512, "linear"), (1023, 256 << 10, "pairwise"), (1024, 1 << 30, "linear"),
    (2048, 1023, "bruck"), (4095, 1024, "linear"), (4096, 2047, "bruck"), (7168, 2048, "linear")])
def test_open_mpi_chooses_by_ranks_and_size(ranks, size, algorithm):
    assert chosen("openmpi5", ranks, size) == algorithm


@pytest.mark.parametrize("ranks, size, algorithm", [
    (7, 8, "scatter_destination throttle=32"), (8, 256, "bruck"), (7168, 257, "scatter_destination throttle=32"), (8, 32 << 10, "scatter_destination throttle=32"),
    (8, (32 << 10) + 1, "pairwise")])
def test_mpich_chooses_by_ranks_and_size(ranks, size, algorithm):
    assert chosen("mpich", ranks, size) == algorithm


def test_every_row_ends_with_an_algorithm_for_all_sizes_above():
    for _, row in OPENMPI5:
        limits = [limit for limit, _ in row]
        assert limits[-1] == 0 and limits[:-1] == sorted(limits[:-1]) and 0 not in limits[:-1]


def test_a_choice_that_is_refused_is_the_last_one():
    for name in PEERS:
        for ranks in (4000, 4001, 4095, 4096, 65536):
            posted = [at_once(algorithm, ranks) > MOST_AT_ONCE for _, algorithm in choices_of(name, ranks)]
            assert posted == sorted(posted)


def test_linear_on_very_many_ranks_is_refused():
    assert refusal("linear", 8, 4000) == "" and contender_lines("linear", 4000) == ["algorithm linear"]
    assert refusal("linear", 8, 7168) == "linear posts 51 million messages at once on 7168 ranks, and the simulation takes 16 million at most"
    assert contender_lines("linear", 7168) == [] and refusal("auto", 8, 7168) == "" and contender_lines("scatter_destination throttle=4096", 7168) == []
    assert contender_lines("openmpi5", 7168) == ["choice openmpi5 2047 bruck"] and refusal("openmpi5", 1024, 7168) == "" and "51 million" in refusal("openmpi5", 2048, 7168)


def test_the_program_is_asked_for_the_choices(stand_in, machine, tmp_path, capsys):
    out, page = tmp_path / "result.json", tmp_path / "page.html"
    assert main(["simulate", "alltoall", "--machine", str(machine()), "--nodes", "32", "--algorithms", "auto,openmpi5,mpich", "--sizes", "8,512", "--json", str(out),
                 "--html", str(page)]) == 0
    asked, = stand_in()
    assert asked["algorithm"] == ["auto"]
    assert asked["choice"] == ["openmpi5 1023 bruck", "openmpi5 262143 linear", "openmpi5 * pairwise",
                               "mpich 256 bruck", "mpich 32768 scatter_destination throttle=32", "mpich * pairwise"]
    result = json.loads(out.read_text())
    assert result["peers"] == {"openmpi5": "Open MPI 5.0", "mpich": "MPICH"}
    assert [one["chosen"] for one in result["results"] if one["algorithm"] == "mpich"] == ["bruck", "scatter_destination"]
    said = " ".join(capsys.readouterr().out.split())
    assert "stand for the choice of algorithms that these libraries have published" in said and "have not published their choice" in said
    assert "Open MPI 5.0&#x27;s choice" in page.read_text()


def test_what_is_refused_is_missing_and_the_rest_is_simulated(stand_in, machine, tmp_path):
    out = tmp_path / "result.json"
    assert main(["simulate", "alltoall", "--machine", str(machine()), "--nodes", "2,4096", "--algorithms", "linear,openmpi5", "--sizes", "8,4K", "--json", str(out)]) == 0
    _, large = stand_in()
    assert "algorithm" not in large and large["choice"] == ["openmpi5 2047 bruck"]
    result = json.loads(out.read_text())
    missing = [(one["nodes"], one["algorithm"], one["bytes"]) for one in result["missing"]]
    assert missing == [(4096, "linear", 8), (4096, "linear", 4096), (4096, "openmpi5", 4096)] and "67 million messages" in result["missing"][0]["error"]
    assert len(result["results"]) == 5


def test_a_run_of_which_everything_is_refused_asks_nothing(stand_in, machine, tmp_path):
    out = tmp_path / "result.json"
    assert main(["simulate", "alltoall", "--machine", str(machine()), "--nodes", "4096", "--algorithms", "linear", "--sizes", "8", "--json", str(out)]) == 2
    assert not (tmp_path / "log").exists() and len(json.loads(out.read_text())["missing"]) == 1


def test_peers_are_refused_where_they_cannot_be(stand_in, monkeypatch):
    with pytest.raises(CliError, match="The choice of mpich is known for alltoall, not for allreduce"):
        check_peer("allreduce", "mpich")
    assert peers_for("alltoall") == ["openmpi5", "mpich"] and peers_for("allreduce") == [] and peer_notes(["auto"]) == []
    monkeypatch.setattr(core, "catalogue", lambda: [{"collective": "alltoall", "memory": "host", "name": name, "parameters": []} for name in ("linear", "pairwise", "bruck")])
    check_peer("alltoall", "openmpi5")
    with pytest.raises(CliError, match="mpich chooses the algorithm scatter_destination, which crossrail has only if it is built"):
        check_peer("alltoall", "mpich")
    assert peers_for("alltoall") == ["openmpi5"]
