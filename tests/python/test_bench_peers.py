"""Contenders from other libraries."""

from crossrail.measure import BenchRequest, bench_options


def test_every_peer_is_an_option_of_the_program():
    request = BenchRequest("alltoall", 4, repetitions=7, peers=["one=/a/one.so:first", "two=/b/two.so:second"])
    assert bench_options(request) == ["--repetitions", "7", "--peer", "one=/a/one.so:first", "--peer", "two=/b/two.so:second"]
