"""Contenders from other libraries."""

import pytest

from crossrail.bench import run as bench_run
from crossrail.bench.request import BenchRequest, Effort, What, Where, bench_options, shortest_datatype
from crossrail.errors import CliError


def test_every_peer_is_an_option_of_the_program():
    request = BenchRequest(What("alltoall", peers=("one=/a/one.so:first", "two=/b/two.so:second")), Where(4), Effort(7))
    assert bench_options(request) == ["--repetitions", "7", "--peer", "one=/a/one.so:first", "--peer", "two=/b/two.so:second"]


def test_a_datatype_is_an_option_unless_bytes_lie_in_a_row():
    for datatype, options in (("contiguous", []), ("vector:contiguous", ["--datatype", "vector:contiguous"])):
        assert bench_options(BenchRequest(What("alltoall", datatype=datatype), Where(2))) == options


def test_sides_that_are_alike_have_one_name():
    names = {"contiguous": "contiguous", "contiguous:contiguous": "contiguous", "vector:vector": "vector", "vector:indexed": "vector:indexed", ":": ":",
             "vector:": "vector:", "vector:vector:vector": "vector:vector:vector"}
    assert {words: shortest_datatype(words) for words in names} == names


@pytest.mark.parametrize("what, fits", [(What("alltoall", max_bytes=1 << 40), False), (What("allgather", max_bytes=1 << 40, in_place=True), False),
                                        (What("allreduce", max_bytes=1 << 40), False), (What("alltoall", max_bytes=1 << 20, buffers=1_000_000), False),
                                        (What("alltoallv", max_bytes=1 << 40, empty=100), True), (What("alltoall"), True)])
def test_buffers_that_no_memory_is_for(what, fits, monkeypatch):
    monkeypatch.setattr(bench_run.os, "sysconf", lambda name: 1 << 20 if name == "SC_PHYS_PAGES" else 4096)
    monkeypatch.setattr(bench_run, "exchange_names", lambda: ["alltoall", "alltoallv", "allgather"])
    if fits:
        bench_run.check_memory(what, 2)
    else:
        with pytest.raises(CliError, match="or more; this machine has 4 GiB of memory"):
            bench_run.check_memory(what, 2)
