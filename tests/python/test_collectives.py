"""The collectives and their calls, as the library tells them."""

import pytest

from crossrail import core
from crossrail.collectives import any_of, call_names, exchange_names, find, find_call, for_help, names, vector_names
from crossrail.errors import CliError
from crossrail.report.call_tables import knows_sizes


def missing():
    """In place of a library that is not there."""
    raise CliError("run make")


def test_the_calls_of_the_collectives():
    assert names() == ["alltoall", "alltoallv", "allreduce"]
    assert call_names() == ["alltoall", "ialltoall", "alltoall_init", "alltoallv", "ialltoallv", "alltoallv_init",
                            "alltoallw", "ialltoallw", "alltoallw_init", "allreduce", "iallreduce", "allreduce_init"]
    assert vector_names() == ["alltoallv"] and not find("alltoallv").knows_sizes and find("alltoall").knows_sizes
    assert find_call("alltoall")[1] == "blocking" and find_call("ialltoallv")[0].name == "alltoallv"
    assert exchange_names() == ["alltoall", "alltoallv"]
    assert find("allreduce").reduces and find("allreduce").knows_sizes and not find("alltoall").reduces
    assert [find("alltoallv").kind_of(call) for call in ("alltoallv", "ialltoallw", "alltoallw_init")] == ["alltoallv", "alltoallw", "alltoallw"]
    assert find_call("ialltoallw") == (find("alltoallv"), "nonblocking") and find("iallreduce") is None
    assert find_call("alltoall_init")[1] == "persistent" and find("nothing") is None
    with pytest.raises(CliError, match="no collective 'allgather' here; there are alltoall, ialltoall"):
        find_call("allgather")


def test_what_the_library_tells_counts(monkeypatch, collective_rows):
    rows = [*collective_rows, {"name": "gather", "mpi": ["MPI_Gather", "MPI_Igather"], "counts": "block", "reduces": False,
                               "setting": "CROSSRAIL_GATHER"}]
    monkeypatch.setattr(core, "collective_rows", lambda: rows)
    assert call_names()[-2:] == ["gather", "igather"] and find_call("igather")[1] == "nonblocking"
    with pytest.raises(CliError, match="gather_init"):
        find_call("gather_init")


def test_no_library_at_all(monkeypatch):
    monkeypatch.setattr(core, "collective_rows", missing)
    with pytest.raises(CliError, match="run make"):
        find_call("alltoall")
    assert for_help(call_names) == "..." and knows_sizes("alltoall")


def test_a_list_in_words():
    assert [any_of(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a or b", "a, b or c"]
    assert for_help(vector_names) == "alltoallv"
