"""Host and device memory in what the library is asked, and in `crossrail list` and `crossrail explain`."""

import json
import os
import re
from pathlib import Path

import pytest

from crossrail import core
from crossrail.cli.app import main
from crossrail.core import collective_rows as told  # A fixture puts others in its place later.
from crossrail.errors import CliError

HEADER = Path(__file__).resolve().parents[3] / "include/crossrail/crossrail.h"
CATALOGUE = [{"collective": "alltoall", "memory": "host", "name": "pairwise", "summary": "one by one", "parameters": []},
             {"collective": "alltoall", "memory": "device", "name": "packet", "summary": "data and flags", "parameters": []},
             {"collective": "alltoallv", "memory": "host", "name": "linear", "summary": "all at once", "parameters": []}]


class Library:
    """Stands for libcrossrail.so: keeps the questions."""

    def __init__(self, chosen="packet"):
        self.questions, self.chosen, self.warning = [], chosen, ""

    def crossrail_catalogue(self):
        return json.dumps(CATALOGUE).encode()

    def crossrail_settings_given(self):
        return b'{"files": [], "given": []}'

    def crossrail_explain(self, question):
        asked = question._obj
        self.questions.append((asked.collective, asked.block_bytes, asked.size, asked.memory))
        self.mpi, self.ranks_per_device, self.form = asked.mpi, asked.ranks_per_device, asked.form
        return json.dumps({"topology": "2 ranks on 1 node", "chosen": self.chosen, "candidates": [], "passed_over": [], "warning": self.warning}).encode()


@pytest.fixture
def library(monkeypatch):
    """A library in place of the built one."""
    made = Library()
    monkeypatch.setattr(core, "load", lambda: made)
    return made


def test_the_question_has_the_members_of_the_header():
    struct = re.search(r"typedef struct crossrail_question \{(.*?)\} crossrail_question;", HEADER.read_text(), re.S).group(1)
    members = re.findall(r"(\w+);", re.sub(r"/\*.*?\*/", "", struct))
    assert [name for name, _ in core.CQuestion._fields_] == members


def test_the_words_for_memory():
    assert [core.memory_kind(word) for word in ("host", "device", "cuda", "hip")] == ["host", "device", "device", "device"]
    with pytest.raises(CliError, match="'tape' is no memory"):
        core.memory_kind("tape")


def test_every_memory_has_its_algorithms(library):
    assert core.algorithm_names("alltoall") == ["pairwise"] and core.algorithm_names("alltoall", "device") == ["packet"]
    assert core.algorithm_names("alltoallv", "device") == []


def test_the_memory_is_asked_for(library):
    core.explain(core.Question("alltoall", 16, [0, 0]))
    core.explain(core.Question("alltoall", 16, [0, 0, 0], memory="device"))
    assert library.questions == [(b"alltoall", 16, 2, b"host"), (b"alltoall", 16, 3, b"device")]


def test_the_list_has_a_column_for_the_memory(library, capsys):
    assert main(["list"]) == 0
    rows = [line.split("│") for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert [[cell.strip() for cell in row[1:4]] for row in rows] == [
        ["alltoall", "host", "pairwise"], ["alltoall", "device", "packet"], ["alltoallv", "host", "linear"]]


def test_the_list_has_the_parameters_each_once(library, capsys, monkeypatch):
    packet = {"name": "packet", "default": 1024, "unit": "row_bytes", "values": [512, 1024], "help": "longest row"}
    chunk = {"name": "chunk", "default": 1000, "unit": "bytes", "values": [], "help": "most of a block"}
    monkeypatch.setattr(core, "catalogue", lambda: [{**CATALOGUE[0], "parameters": [packet, chunk]}, {**CATALOGUE[1], "parameters": [packet]}])
    assert main(["list"]) == 0
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert rows == [["alltoall", "host", "pairwise", "packet chunk", "one by one"], ["alltoall", "device", "packet", "packet", "data and flags"],
                    ["packet", "1K", "row bytes", "512, 1K", "longest row"], ["chunk", "1000", "bytes", "-", "most of a block"]]


def test_a_warning_and_the_mpi_library(library, capsys):
    library.warning = "CROSSRAIL_ALLTOALL=brook is ignored"
    assert main(["explain", "alltoall", "-n", "2", "--bytes", "1K", "--mpi", "openmpi4.1.6", "--ranks-per-device", "2"]) == 0
    assert (library.mpi, library.ranks_per_device) == (b"openmpi4.1.6", 2)
    assert "CROSSRAIL_ALLTOALL=brook is ignored" in capsys.readouterr().out


@pytest.mark.parametrize("word", ["device", "cuda", "hip"])
def test_a_call_on_device_memory_is_explained(library, word, capsys):
    assert main(["explain", "alltoall", "-n", "2", "--bytes", "1K", "--memory", word]) == 0
    assert library.questions[-1][-1] == b"device" and "host memory" not in capsys.readouterr().out


@pytest.mark.parametrize("call, form", [("alltoall", b"blocking"), ("ialltoall", b"nonblocking"), ("alltoall_init", b"persistent")])
def test_every_form_of_a_call_is_explained(library, call, form):
    assert main(["explain", call, "-n", "2", "--bytes", "1K"]) == 0
    assert (library.questions[-1][0], library.form) == (b"alltoall", form)


def test_a_call_that_is_not_there_is_named(library, capsys):
    assert main(["explain", "iallgather", "-n", "2", "--bytes", "1K"]) == 2
    assert "no collective 'iallgather'" in capsys.readouterr().err


def test_a_call_in_the_order_of_a_stream(library):
    assert main(["explain", "alltoall", "-n", "2", "--bytes", "1K", "--memory", "stream"]) == 0
    assert library.questions[-1][-1] == b"stream"


def test_what_goes_through_host_memory_is_said(library, capsys):
    library.chosen = "native"
    assert main(["explain", "alltoall", "-n", "2", "--bytes", "1K", "--memory", "cuda"]) == 0
    assert "No algorithm for device memory is chosen: the blocks go through host memory" in capsys.readouterr().out
    assert main(["explain", "alltoallv", "-n", "2", "--memory", "cuda"]) == 0
    assert "alltoallv has no algorithm for device memory" in capsys.readouterr().out
    assert main(["explain", "alltoall", "-n", "2", "--bytes", "1K"]) == 0
    assert "host memory" not in capsys.readouterr().out
    assert main(["explain", "alltoall", "-n", "2", "--bytes", "1K", "--memory", "tape"]) == 2
    assert "take one of host, device, cuda, hip, stream" in capsys.readouterr().err


def test_the_built_library_answers(monkeypatch):
    folder = os.environ.get("CROSSRAIL_BUILD", "")
    if not folder or not (Path(folder) / "libcrossrail.so").exists():
        pytest.skip("CROSSRAIL_BUILD names no folder with libcrossrail.so")
    for name in [name for name in os.environ if name.startswith("CROSSRAIL")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("CROSSRAIL_LIBRARY_DIR", folder)
    core.load.cache_clear()
    try:
        assert {row["memory"] for row in core.catalogue()} == {"host", "device"}
        assert told() and told()[0]["mpi"][0] == "MPI_Alltoall"
        assert core.parameters("alltoall", "node_shared")[0]["name"] == "packet"
        for memory in ("host", "device"):
            found = core.explain(core.Question("alltoall", 1024, [0] * 4, memory=memory))
            assert found["chosen"] in core.algorithm_names("alltoall", memory)
    finally:
        core.load.cache_clear()
