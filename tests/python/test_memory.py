"""Host and device memory in what the library is asked, and in `crossrail list` and `crossrail explain`."""

import json
import os
import re
from pathlib import Path

import pytest

from crossrail import core
from crossrail.cli.app import main
from crossrail.problem import Problem

HEADER = Path(__file__).resolve().parents[2] / "include/crossrail/crossrail.h"
CATALOGUE = [{"collective": "alltoall", "memory": "host", "name": "pairwise", "summary": "one by one"},
             {"collective": "alltoall", "memory": "device", "name": "packet", "summary": "data and flags"},
             {"collective": "alltoallv", "memory": "host", "name": "linear", "summary": "all at once"}]


class Library:
    """Stands for libcrossrail.so: keeps the questions."""

    def __init__(self, chosen="packet"):
        self.questions, self.chosen = [], chosen

    def crossrail_catalogue(self):
        return json.dumps(CATALOGUE).encode()

    def crossrail_explain(self, question):
        asked = question._obj
        self.questions.append((asked.collective, asked.block_bytes, asked.size, asked.memory))
        return json.dumps({"topology": "2 ranks on 1 node", "chosen": self.chosen, "candidates": [], "passed_over": []}).encode()


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
    with pytest.raises(Problem, match="'tape' is no memory"):
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


@pytest.mark.parametrize("word", ["device", "cuda", "hip"])
def test_a_call_on_device_memory_is_explained(library, word, capsys):
    assert main(["explain", "alltoall", "-n", "2", "--bytes", "1K", "--memory", word]) == 0
    assert library.questions[-1][-1] == b"device" and "host memory" not in capsys.readouterr().out


def test_what_goes_through_host_memory_is_said(library, capsys):
    library.chosen = "native"
    assert main(["explain", "alltoall", "-n", "2", "--bytes", "1K", "--memory", "cuda"]) == 0
    assert "No algorithm for device memory is chosen: the blocks go through host memory" in capsys.readouterr().out
    assert main(["explain", "alltoallv", "-n", "2", "--memory", "cuda"]) == 0
    assert "alltoallv has no algorithm for device memory" in capsys.readouterr().out
    assert main(["explain", "alltoall", "-n", "2", "--bytes", "1K"]) == 0
    assert "host memory" not in capsys.readouterr().out
    assert main(["explain", "alltoall", "-n", "2", "--bytes", "1K", "--memory", "tape"]) == 1
    assert "take one of host, device, cuda, hip" in capsys.readouterr().err


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
        for memory in ("host", "device"):
            found = core.explain(core.Question("alltoall", 1024, [0] * 4, memory=memory))
            assert found["chosen"] in core.algorithm_names("alltoall", memory)
    finally:
        core.load.cache_clear()
