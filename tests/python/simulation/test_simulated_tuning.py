"""`crossrail tune --simulate` with a stand-in for the program: what it asks, the table it writes, and how it ends."""

import pytest

from crossrail import core
from crossrail.cli.app import main
from crossrail.tuning import simulated
from crossrail.tuning.table import read_rows


@pytest.fixture
def library(stand_in, monkeypatch):
    """What the library says: everything but 'unfit' fits, and the table in force chooses 'matrix'."""
    unfit = [{"algorithm": name, "why": "does not fit this layout"} for name in ("unfit", "broken", "wrong", "refused", "killed", "slow")]
    monkeypatch.setattr(core, "explain", lambda question: {"candidates": [{"algorithm": "matrix", "origin": "default.csv:3", "parameters": {"leaders": 1}}],
                                                           "passed_over": unfit, "mpi": ""})
    monkeypatch.setattr(core, "settings", lambda: [{"variable": "CROSSRAIL", "value": "1"}])
    monkeypatch.setattr(core, "settings_given", lambda: {"files": [], "given": []})
    return stand_in


def tune(machine, *words, collective="alltoall"):
    """Runs the command on a machine file; returns the exit code."""
    return main(["tune", collective, "--simulate", str(machine), *words])


def test_candidates_and_peers_are_simulated_on_every_number_of_nodes(library, banded, tmp_path):
    assert tune(banded, "--nodes", "4,2", "--min", "8", "--max", "16", "--output", str(tmp_path / "t.csv")) == 0
    asked = library()
    assert [(one["nodes"][0], one["machine.transport.kind"][0]) for one in asked] == [(nodes, kind) for nodes in "24" for _ in range(2) for kind in "012"]
    assert asked[0]["algorithm"] == ["bruck", "matrix", "matrix leaders=2", "linear", "pairwise", "scatter_destination"] and asked[0]["bytes"] == ["8", "16"]
    assert {choice.split()[0] for choice in asked[0]["choice"]} == {"openmpi5", "mpich"} and asked[0]["check_up_to"] == ["8"]
    assert asked[-1]["algorithm"] == ["bruck", "matrix", "linear", "pairwise", "scatter_destination"], "leaders=2 made no difference on 2 nodes"


def test_rows_have_comments_that_say_how_sure_they_are(library, machine, tmp_path, capsys):
    table = tmp_path / "t.csv"
    table.write_text("collective,memory,nodes,ranks_per_node,up_to_bytes,algorithm,parameters\nalltoall,host,1,2,*,bruck,\n")
    assert tune(machine(), "--nodes", "2,4,8", "--ranks-per-node", "2,8", "--max", "16", "--algorithms", "bruck,matrix", "--output", str(table)) == 0
    text = table.read_text()
    assert read_rows(text) == [["alltoall", "host", "*", "2-8", "2-4", "*", "16", "matrix", ""], ["alltoall", "host", "*", "2-8", "5-8", "*", "16", "matrix", ""],
                               ["alltoall", "host", "*", "1", "2", "*", "*", "bruck", ""]]
    lines = text.splitlines()
    comment = " ".join(line.lstrip("# ") for line in lines[lines.index(next(line for line in lines if line.startswith("collective,"))) + 1:][:3])
    assert "This row is simulated, not measured, on A machine, with blocks of 8 B to 16 B. It is sure within the model" in comment
    assert "times as fast as the better of Open MPI 5.0 and MPICH" in comment and "and 2.00 times as fast as the second best, bruck." in comment
    assert "# Simulated: 2, 4, 8 nodes of 2 ranks; 2, 4, 8 nodes of 8 ranks" in lines
    assert max(len(line) for line in lines if not line.startswith("# Command: ")) <= 150
    said = " ".join(capsys.readouterr().out.split())
    assert "These rows are simulated, not measured" in said and "above what was there before (1 row)" in said


def test_presets_come_from_the_machine(library, machine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert tune(machine(), "--algorithms", "bruck", "--max", "8") == 0
    assert [one["nodes"] for one in library()] == [["17"], ["32"], ["64"], ["128"]] and library()[0]["ranks_per_node"] == ["2"]
    assert "nothing else was tried." in (tmp_path / "simulated_machine.csv").read_text()


@pytest.mark.parametrize("words, sentence", [
    ("-n 4", "--ranks makes no sense with --simulate, which starts no MPI jobs and measures nothing."),
    ("-H 2", "--hosts makes no sense with --simulate"), ("--mpi mpich", "--mpi makes no sense"), ("--launcher srun", "--launcher makes no sense"),
    ("--memory host", "--memory makes no sense"), ("--native-cuda", "--native-cuda makes no sense"), ("--rounds 5", "--rounds makes no sense"),
    ("--seconds 0.1", "--seconds makes no sense"), ("--empty 0", "--empty makes no sense"), ("--helpers-per-gpu 0", "--helpers-per-gpu makes no sense"),
    ("--resume", "--resume makes no sense"), ("-- --hostfile x", "What follows -- makes no sense"),
    ("--nodes 1,2", "Rows for one node are measured, not simulated: --nodes takes numbers from 2 on."), ("--nodes 0", "--nodes takes numbers from 1"),
    ("--ranks-per-node x", "'x' is not a list of numbers; write for example 28,56."), ("--ranks-per-node 0", "--ranks-per-node takes a number from 1 to 4096, not 0."),
    ("--min 16 --max 8", "--min must be at least 1 byte, and --max not below it."), ("--algorithms foo", "alltoall has no algorithm 'foo'"),
    ("--output /nosuch/t.csv", "There is no folder /nosuch."),
])
def test_words_that_make_no_sense_are_one_sentence(words, sentence, library, machine, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert tune(machine(), *words.split()) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.startswith("crossrail: ") and said.count("\n") == 1 and not (tmp_path / "log").exists()


def test_other_words_that_make_no_sense(library, machine, tmp_path, capsys):
    path = str(machine())
    for words, sentence in ((["alltoall", "--nodes", "4"], "--nodes goes with --simulate only"), (["alltoall", "--ranks-per-node", "4"], "--ranks-per-node goes with --simulate only"),
                            (["allgatherv", "--simulate", path], "'allgatherv' cannot be simulated"), (["alltoall", "--simulate", "nowhere"], "There is no machine 'nowhere' here"),
                            (["allreduce", "--simulate", path, "--min", "2"], "--min takes a multiple of that"),
                            (["alltoall", "--simulate", path, "--output", path], "is what is read here")):
        assert main(["tune", *words]) == 2
        said = capsys.readouterr().err
        assert sentence in said and said.count("\n") == 1


@pytest.mark.parametrize("name, code, sentence", [
    ("refused", 2, "The simulation of 4 nodes failed: there is no memory for so many ranks The table has what was complete."),
    ("wrong", 1, "Data were wrong: 2 nodes: rank 3 has wrong data from rank 1"),
    ("killed", 2, "The program was ended by signal 9 (SIGKILL)"),
])
def test_what_is_complete_is_kept(name, code, sentence, library, machine, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(simulated, "candidates_on", lambda *_: ["bruck", "matrix", name])
    table = tmp_path / "t.csv"
    assert tune(machine(), "--nodes", "2,4", "--max", "8", "--output", str(table)) == code
    assert sentence.split(" The table")[0] in capsys.readouterr().err and table.exists() == (name == "refused")


def test_ctrl_c_keeps_what_is_complete(library, machine, tmp_path, monkeypatch, capsys):
    results = []

    def stopped(request, hear):
        results.append(request.nodes)
        found = real(request, hear)
        return {**found, "stopped": True} if request.nodes == (4,) else found

    real = simulated.simulate
    monkeypatch.setattr(simulated, "simulate", stopped)
    table = tmp_path / "t.csv"
    assert tune(machine(), "--nodes", "2,4,8", "--max", "8", "--algorithms", "bruck", "--output", str(table)) == 130
    assert results == [(2,), (4,)] and read_rows(table.read_text()) == [["alltoall", "host", "*", "2", "2", "*", "8", "bruck", ""]]
    assert "Stopped. The table has what was complete." in capsys.readouterr().err
