"""Contenders from other libraries."""

from crossrail.bench.request import BenchRequest, Effort, What, Where, bench_options, shortest_datatype


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
