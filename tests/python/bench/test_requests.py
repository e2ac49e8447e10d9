"""Contenders from other libraries."""

from crossrail.bench.request import BenchRequest, Effort, What, Where, bench_options


def test_every_peer_is_an_option_of_the_program():
    request = BenchRequest(What("alltoall", peers=("one=/a/one.so:first", "two=/b/two.so:second")), Where(4), Effort(7))
    assert bench_options(request) == ["--repetitions", "7", "--peer", "one=/a/one.so:first", "--peer", "two=/b/two.so:second"]
