"""`crossrail simulate` with a stand-in for the program: what it asks, shows and writes, and how it ends."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from crossrail.cli.app import main
from crossrail.report.simulation_page import thinned

SOURCES = str(Path(__file__).resolve().parents[3] / "python")
# The command line, with a catalogue as tests have it.
COMMAND = f"""
import sys
sys.path[:0] = [{str(Path(__file__).parent)!r}]
import conftest
from crossrail import core
core.catalogue = lambda: conftest.CATALOGUE
from crossrail.cli.app import main
sys.exit(main(sys.argv[1:]))
"""


def simulate(machine, *words):
    """Runs the command on a machine file; returns the exit code."""
    return main(["simulate", "alltoall", "--machine", str(machine), *words])


def text_of(capsys):
    """What was printed, with blanks in place of line breaks."""
    return " ".join(capsys.readouterr().out.split())


def test_the_program_is_asked_for_what_the_user_wants(stand_in, machine, tmp_path):
    table = tmp_path / "table.csv"
    table.touch()
    assert simulate(machine(), "--nodes", "2", "--ranks-per-node", "56", "--algorithms", "matrix leaders=2,auto,auto", "--sizes", "8-32,1K", "--calls", "3",
                    "--check-up-to", "16", "--placement", "random:7", "--late", "111:2.5", "--tuning", str(table), "--setting", "CROSSRAIL_SCRATCH=64M") == 0
    asked, = stand_in()
    assert asked["nodes"] == ["2"] and asked["ranks_per_node"] == ["56"] and asked["collective"] == ["alltoall"]
    assert asked["algorithm"] == ["matrix leaders=2", "auto"] and asked["bytes"] == ["8", "16", "32", "1024"]
    assert (asked["calls"], asked["check_up_to"], asked["placement"], asked["late"]) == (["3"], ["16"], ["random 7"], ["111 2.5"])
    assert asked["tuning"] == [str(table)] and asked["setting"] == ["CROSSRAIL_SCRATCH=64M"]
    assert asked["machine.transport.kind"] == ["0"] and asked["machine.memory.shared_bandwidth"] == ["7.5"] and asked["machine.network.shared_by_processors"] == ["0"]
    assert sum(key.startswith("machine.") for key in asked) == 33


def test_the_machine_file_says_what_the_user_does_not(stand_in, machine):
    assert simulate(machine()) == 0
    assert [(asked["nodes"], asked["ranks_per_node"], asked["bytes"], asked["algorithm"]) for asked in stand_in()] == [
        ([nodes], ["2"], ["8", "16"], ["auto"]) for nodes in ("2", "4")]


def test_tables_have_times_ratios_and_traffic(stand_in, machine, capsys):
    assert simulate(machine(), "--nodes", "2", "--algorithms", "bruck,auto,unfit", "--check-up-to", "8") == 0
    said = text_of(capsys)
    assert "MPI_Alltoall simulated: A machine, 2 ranks a node" in said and "2 nodes, 4 ranks" in said
    assert "88.0 900 - right" in said and "auto matrix 22.0 900 4.00 right" in said and "24.0 900 4.00 not moved" in said
    assert "1 1 24.5 KiB 3.06 MiB 3.11 MiB 200 KiB 35" in said
    assert "unfit did not run on 2 nodes at 8 B to 16 B: it needs more node memory than CROSSRAIL_SCRATCH allows." in said
    assert "These times are simulated, not measured" in said and "Blocks above 8 B were charged, but not moved" in said


def test_ranges_are_two_cases_and_the_best_transport_is_told(stand_in, banded, tmp_path, capsys):
    out = tmp_path / "result.json"
    assert simulate(banded, "--nodes", "2", "--algorithms", "bruck,auto", "--sizes", "8", "--json", str(out)) == 0
    kinds = [(asked["machine.transport.kind"][0], asked["machine.adapters.miss"][0], asked["machine.adapters.cached"][0]) for asked in stand_in()]
    assert kinds == [(kind, miss, cached) for miss, cached in (("35", "5000"), ("600", "256")) for kind in "012"]
    said = text_of(capsys)
    assert "44.0 to 88.0" in said and "11.0 to 22.0" in said and " ud " in said and "Two numbers" in said and "the fastest counts in each cell" in said
    result = json.loads(out.read_text())
    assert (result["format"], result["version"], result["cases"]) == ("crossrail simulation", 1, ["favourable", "unfavourable"])
    assert result["machine"]["values"]["adapters.miss"] == [35, 600] and result["machine"]["file"] == "machine.toml"
    first = result["results"][0]
    assert (first["nodes"], first["case"], first["transport"], first["time_us"], first["missed"]) == (2, "favourable", "ud", 44.0, 35)
    assert first["transports"] == {"rc": 88.0, "ud": 44.0, "dc": 88.0} and len(result["results"]) == 4


def test_the_transport_may_be_chosen_by_the_user(stand_in, banded):
    assert simulate(banded, "--nodes", "2", "--sizes", "8", "--transport", "dc") == 0
    assert [asked["machine.transport.kind"] for asked in stand_in()] == [["2"], ["2"]]


def test_the_page_has_charts_by_size_and_by_nodes(stand_in, banded, tmp_path):
    page = tmp_path / "page.html"
    assert simulate(banded, "--nodes", "2,4", "--algorithms", "bruck,auto,unfit", "--html", str(page)) == 0
    text = page.read_text()
    assert text.count('<figure class="chart">') == 4 and "Time of a call by nodes: 8 B, 2 ranks a node" in text and "Time of a call by size: 4 nodes, 8 ranks" in text
    assert "Bands: between the favourable and the unfavourable ends" in text and 'class="band c2"' in text and "asked\"" not in text
    assert "crossrail&#x27;s choice" in text and "<td>256 to 5000</td>" in text and "unfit did not run on 2, 4 nodes" in text
    assert json.loads(re.search(r'id="simulation">(.*?)</script>', text).group(1))["nodes"] == [2, 4]
    assert thinned(list(range(20))) == [1, 4, 7, 10, 13, 16, 19] and thinned([8]) == [8] and thinned([]) == []


@pytest.mark.parametrize("words, sentence", [
    ("--algorithms foo", "alltoall has no algorithm 'foo' for host memory; it has bruck, matrix"),
    ("--algorithms matrix_colour=3", "matrix has no parameter 'colour'; it has leaders."),
    ("--algorithms ,", "No algorithm is named: --algorithms auto,pairwise."),
    ("--nodes 0", "--nodes takes numbers from 1 to 16384, not '0'."),
    ("--nodes two", "'two' is not a list of numbers; write for example 2,4,8,16."),
    ("--nodes 1 --ranks-per-node 1", "From 2 to 16384 ranks can be simulated, not 1."),
    ("--nodes 16384", "From 2 to 16384 ranks can be simulated, not 32768."),
    ("--ranks-per-node 0", "--ranks-per-node takes a number from 1 to 4096, not 0."),
    ("--ranks-per-node many", "is not a whole number."),
    ("--sizes 512-8", "'512-8' has no sizes"),
    ("--sizes 0-8", "'0-8' has no sizes"),
    ("--sizes x", "'x' is not a size"),
    ("--calls 0", "Invalid value for '--calls'"),
    ("--check-up-to x", "'x' is not a size"),
    ("--placement cyclical", "The placement is blocks, cyclic, random or random:SEED, not 'cyclical'. Did you mean 'cyclic'?"),
    ("--placement random:x", "not 'random:x'."),
    ("--placement blocks:1", "not 'blocks:1'."),
    ("--late 3", "'3' is no late rank: write the rank and its microseconds, --late 0:500."),
    ("--late 4:500", "There is no rank 4 where the fewest nodes have 4 ranks."),
    ("--setting SCRATCH=1", "'SCRATCH=1' is no setting: write CROSSRAIL_SCRATCH=64M."),
    ("--transport tcp", "The transport is rc, ud, dc or best, not 'tcp'."),
    ("--time-limit 0", "--time-limit takes seconds, more than 0."),
    ("--html /nosuch/x.html", "There is no folder /nosuch."),
    ("--json x --html x", "Two results would be written to x"),
])
def test_wrong_words_are_one_sentence(words, sentence, stand_in, machine, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert simulate(machine(), *(word.replace("matrix_", "matrix ") for word in words.split())) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.startswith("crossrail: ") and said.count("\n") == 1 and not (tmp_path / "log").exists()


def test_other_wrong_words(stand_in, machine, capsys):
    path = machine(("copy = 10", "copy = -1"))
    for words, sentence in ((["alltoall", "--machine", str(path)], f"{path}, line 11: memory.copy is -1"), (["alltoall"], "Missing option '--machine'."),
                            (["allgatherv", "--machine", str(path)], "'allgatherv' cannot be simulated; take alltoall, alltoallv, allreduce, allgather or reduce_scatter_block."),
                            (["alltoall", "--machine", "nowhere"], "There is no machine 'nowhere' here"),
                            (["alltoall", "--machine", str(path), "--json", str(path)], "is what is read here")):
        assert main(["simulate", *words]) == 2
        said = capsys.readouterr().err
        assert sentence in said and said.count("\n") == 1


def test_a_program_that_is_not_built_is_a_sentence(machine, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("CROSSRAIL_LIBRARY_DIR", str(tmp_path))
    assert simulate(machine()) == 2
    assert f"The program crossrail_simulate is not in {tmp_path}/bench: run 'make' first." in capsys.readouterr().err


@pytest.mark.parametrize("name, code, sentence, kept", [
    ("wrong", 1, "", 2),
    ("broken", 2, "has answered with a line that is no result (it has no 'bytes'): {\"algorithm\": 3}", 1),
    ("refused", 2, "The simulation of 4 nodes failed: there is no memory for so many ranks. What was ready is kept.", 2),
    ("killed", 2, "The simulation of 2 nodes failed: The program was ended by signal 9 (SIGKILL). What was ready is kept.", 1),
])
def test_a_program_that_fails_leaves_what_came_before(name, code, sentence, kept, stand_in, machine, tmp_path, capsys):
    out = tmp_path / "result.json"
    assert simulate(machine(), "--sizes", "8", "--algorithms", f"auto,{name}", "--json", str(out)) == code
    said = capsys.readouterr()
    assert sentence in said.err
    result = json.loads(out.read_text())
    assert sum(one["algorithm"] == "auto" for one in result["results"]) == kept
    assert ("WRONG DATA. 2 nodes: rank 3 has wrong data from rank 1" in " ".join(said.out.split())) == (name == "wrong") == bool(result.get("wrong"))


def test_what_is_refused_at_once_is_a_sentence(stand_in, machine, tmp_path, capsys):
    assert simulate(machine(), "--nodes", "4", "--algorithms", "refused", "--json", str(tmp_path / "x")) == 2
    assert "The simulation of 4 nodes was refused: there is no memory for so many ranks" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_the_end_of_the_time_keeps_what_is_ready(stand_in, machine, tmp_path, capsys):
    out = tmp_path / "result.json"
    began = time.monotonic()
    assert simulate(machine(), "--algorithms", "auto,slow", "--time-limit", "1.5", "--json", str(out)) == 0
    assert time.monotonic() - began < 20 and "The time was over. What was ready is kept." in capsys.readouterr().err
    result = json.loads(out.read_text())
    assert result["time_over"] and [(one["algorithm"], one["bytes"]) for one in result["results"]] == [("auto", 8), ("slow", 8)]


@pytest.mark.parametrize("everybody", [True, False], ids=["the terminal's", "this command's alone"])
def test_ctrl_c_keeps_what_is_ready(everybody, stand_in, machine, tmp_path):
    out = tmp_path / "result.json"
    command = [sys.executable, "-c", COMMAND, "simulate", "alltoall", "--machine", str(machine()), "--algorithms", "auto,slow", "--json", str(out)]
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": SOURCES}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, text=True) as started:
        while not (tmp_path / "log").exists() and started.poll() is None:
            time.sleep(0.05)
        time.sleep(1)
        os.killpg(started.pid, signal.SIGINT) if everybody else os.kill(started.pid, signal.SIGINT)
        said, complained = started.communicate(timeout=60)
    assert started.returncode == 130, complained
    assert "Stopped. What was ready is kept." in complained and "The simulation was stopped" in " ".join(said.split())
    result = json.loads(out.read_text())
    assert result["stopped"] and [one["algorithm"] for one in result["results"]] == ["auto", "slow"]
    assert not subprocess.run(["pgrep", "-s", str(started.pid)], stdout=subprocess.PIPE, check=False).stdout
