"""Tables on pages and on the terminal: numbers of a column alike, words as wide as they need to be."""

from crossrail.report.document import LONGEST_WORDS, html_table, with_its_unit
from crossrail.report.replay_tables import decimals, replay_rows
from crossrail.bench.replay import lines


def replayed(native, carried, calls=200):
    """One kind of call, replayed by two ranks."""
    return {"names": ["alltoall"], "calls": [calls], "ranks": 2, "native": [{"inside": [one]} for one in native], "crossrail": [{"inside": [one]} for one in carried]}


def test_the_seconds_of_a_replay_have_as_many_decimals():
    first, everything = replay_rows(replayed([0.5, 0.25], [0.0091, 0.0093], 7718))
    assert first == ["MPI_Alltoall", "3 859", "0.3750", "0.0092", "0.3658", "too few turns to tell"] and everything[1:] == first[1:]
    assert [decimals(lines(replayed([time], [2 * time]))) for time in (14.7, 0.19, 0.0016, 5e-9, 0.0)] == [3, 3, 4, 6, 3]


def test_words_of_a_table_that_scrolls_anyway_are_not_broken():
    row = ["node_shared 3 000, native 10", *"1234"]
    assert 'style="min-width: 28ch">a</th>' in html_table("abcde", [row], [0]) and "min-width" not in html_table("abcd", [row[:4]], [0])
    assert f"min-width: {LONGEST_WORDS}ch" in html_table("abcde", [["x " * 100, *"1234"]], [0])


def test_a_heading_does_not_break_before_its_unit():
    assert [with_its_unit(one) for one in ("native s", "carried µs", "most / mean", "times faster")] == ["native\u00a0s", "carried\u00a0µs", "most\u00a0/ mean", "times faster"]
