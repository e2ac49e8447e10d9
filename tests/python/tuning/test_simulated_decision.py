"""Rows decided from simulated times: the least bad worst case, merged sizes and node counts, and how sure a row is."""

import pytest

from crossrail.tuning.simulated import Evidence, do_the_same, not_worth_trying, times_of
from crossrail.tuning.simulated_decision import Span, merged_spans, near, ranges_of, rows_for, spans_of, worst_ratios


def evidence_of(names, table, peers=()):
    """Evidence of a table: {(nodes, case, size): times in the order of names}; None where a contender did not run."""
    times = {(nodes, case, "rc", size): {name: time for name, time in zip([*names, *peers], row) if time is not None} for (nodes, case, size), row in table.items()}
    return Evidence(8, list(peers), list(names), times=times)


def test_spans_lie_between_simulated_counts():
    assert spans_of([17, 32, 64]) == [Span(17, 32, (17, 32)), Span(33, 64, (32, 64))]
    assert spans_of([17]) == [Span(17, 17, (17,))] and spans_of([17, 18]) == [Span(17, 18, (17, 18))]


def test_the_worst_case_counts():
    cells = [{"a": 1.0, "b": 1.2}, {"a": 2.0, "b": 1.0}, {"c": 1.0}]
    assert worst_ratios(cells, ["a", "b"]) == {"a": 2.0, "b": 1.2}
    assert worst_ratios([*cells[:2], {"b": 1.0}], ["a", "b"]) == {"b": 1.2} and worst_ratios([], ["a"]) == {}


def test_a_row_is_the_least_bad_over_both_ends_and_both_node_counts():
    found = evidence_of(["a", "b", "c"], {(17, "favourable", 8): (10, 12, 40), (17, "unfavourable", 8): (10, 12, 40),
                                          (32, "favourable", 8): (15, 12, 40), (32, "unfavourable", 8): (30, 12, 40)}, ())
    row, = rows_for(found)
    assert (row.winner, row.span, row.worst, row.sure, row.second) == ("b", Span(17, 32, (17, 32)), 1.2, False, "a")
    assert row.over_second == (10 / 12, 2.5) and row.over_peer is None


def test_neighbouring_sizes_are_one_row_if_little_is_lost():
    times = {(17, "stated", size): row for size, row in ((8, (100, 102)), (16, (101, 100)), (32, (104, 100)), (64, (150, 100)))}
    assert ranges_of({size: near(evidence_of("ab", times), Span(17, 17, (17,)), size) for size in (8, 16, 32, 64)}) == [(8, 64, "b")]
    times[(17, "stated", 8)] = (100, 104)
    rows = rows_for(evidence_of("ab", times))
    assert [(row.low, row.high, row.winner) for row in rows] == [(8, 16, "a"), (32, 64, "b")] and rows[0].worst == pytest.approx(1.01) and rows[0].sure


def test_neighbouring_node_counts_are_one_row_if_little_is_lost():
    alike = evidence_of("ab", {(nodes, "stated", 8): (10, 20) for nodes in (17, 32, 64)})
    assert [(span.low, span.high) for span, _ in merged_spans(alike)] == [(17, 64)] and len(rows_for(alike)) == 1
    other = evidence_of("ab", {(17, "stated", 8): (10, 20), (32, "stated", 8): (10, 20), (64, "stated", 8): (40, 10)})
    assert [(row.span.low, row.span.high, row.winner) for row in rows_for(other)] == [(17, 32, "a"), (33, 64, "b")]


def test_what_did_not_run_in_a_case_is_no_choice_there():
    found = evidence_of("ab", {(17, "stated", 8): (10, 20), (17, "stated", 16): (None, 20), (17, "stated", 32): (None, None)})
    assert [(row.high, row.winner, row.second) for row in rows_for(found)] == [(8, "a", "b"), (16, "b", "")]


def test_how_sure_a_row_is():
    found = evidence_of(["a leaders=2", "a", "b"], {(17, "favourable", 8): (10, 11, 15, 20, 30), (17, "unfavourable", 8): (10, 11, 30, 50, 25)}, ("openmpi5", "mpich"))
    row, = rows_for(found)
    assert (row.winner, row.worst, row.sure, row.over_peer, row.second, row.over_second) == ("a leaders=2", 1.0, True, (2.0, 2.5), "b", (1.5, 3.0))


def test_every_transport_is_a_case_of_its_own():
    cell = {"nodes": 17, "case": "favourable", "bytes": 8, "algorithm": "a", "transport": "ud", "time_us": 5.0, "transports": {"rc": None, "ud": 5.0, "dc": 7.0}}
    assert times_of({"results": [cell]}) == {(17, "favourable", "ud", 8): {"a": 5.0}, (17, "favourable", "dc", 8): {"a": 7.0}}
    assert times_of({"results": [{**cell, "transports": None}]}) == {(17, "favourable", "ud", 8): {"a": 5.0}}


def test_what_need_not_be_tried_on_more_nodes():
    times = evidence_of(["a", "a leaders=2", "a leaders=4", "b", "c"], {(17, "stated", 8): (10, 10.01, 9, 31, 10), (17, "stated", 16): (10, 10, 9, 20, 10)}).times
    assert do_the_same("a", "a leaders=2", times) and not do_the_same("a", "c", times) and not do_the_same("a", "a leaders=4", times)
    assert not_worth_trying(["a", "a leaders=2", "a leaders=4", "b", "c"], times) == {"a leaders=2"}
    times[(17, "stated", 16, "rc")] = {}
    slow = {cell: {"a": 10.0, "b": 31.0} for cell in times}
    assert not_worth_trying(["a", "b"], slow) == {"b"}
