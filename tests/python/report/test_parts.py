"""Tables and pages of nonblocking and persistent calls, and of what did not run."""

import xml.etree.ElementTree as xml

import pytest

from crossrail.bench.measurements import not_run_sentences, set_aside_not_run, small_speedup, times_faster, verdict
from crossrail.report.chart_drawing import draw_file
from crossrail.report.measurement_tables import show_measurement
from crossrail.report.measurement_charts import overlap_chart
from crossrail.report.page import render_page
from crossrail.report.parts_table import has_parts, part_headings, part_rows, percent, spread


def quartiles(middle, unit="us"):
    """A tenth below and above."""
    return {f"p25_{unit}": 0.9 * middle, f"p50_{unit}": middle, f"p75_{unit}": 1.1 * middle}


def result(size, contender, pure, overlap, **more):
    """One result of a bench program."""
    return {"bytes": size, "contender": contender, "algorithm": "native", "repetitions": 9, "min_us": pure, "p50_us": pure, "p99_us": pure, "max_us": pure,
            "gb_s": 1.0, "wrong": 0, "pure": quartiles(pure), "start": quartiles(pure / 4), "wait": quartiles(pure), "compute": quartiles(pure),
            "total": quartiles(2 * pure), "exposed": quartiles(pure), "blocking": quartiles(pure / 2), "overlap": quartiles(overlap, "percent"),
            "work_us": pure, **more}


@pytest.fixture
def measurement():
    """Native at two sizes, crossrail twice as fast at the first; overlap from 0 to 80 percent."""
    rows = [result(8, "native", 4.0, 0), result(8, "auto", 2.0, 80), result(16, "native", 6.0, 20), result(16, "auto", 6.0, 40)]
    return {"collective": "ialltoall", "mpi": "Open MPI v4.1.4", "flavour": "openmpi", "ranks": 2, "nodes": 1, "ranks_per_node": 2, "cores": 2,
            "oversubscribed": False, "checked": True, "rotating_buffers": 1, "tests": 0, "results": rows, "machine": {"host": "h"}}


def test_a_median_with_its_spread():
    assert spread(quartiles(2.0)) == "2.00 ±10%" and spread({"p25_us": 0.0, "p50_us": 0.0, "p75_us": 0.0}) == "0"
    assert percent(quartiles(80, "percent")) == "80 ±8"


def test_a_row_for_every_size_and_contender(measurement):
    assert has_parts(measurement)
    assert part_headings(measurement)[:9] == ["block", "contender", "algorithm", "reps", "pure", "start", "wait", "compute", "total"]
    rows = part_rows(measurement)
    assert [row[:5] for row in rows] == [["8 B", "native", "native", "9", "4.00 ±10%"], ["8 B", "crossrail", "native", "9", "2.00 ±10%"],
                                         ["16 B", "native", "native", "9", "6.00 ±10%"], ["16 B", "crossrail", "native", "9", "6.00 ±10%"]]
    assert rows[1][-4:] == ["80 ±8", "1.00", "2.00", "right"] and rows[0][-2] == "-"
    for one in measurement["results"]:
        one["init_us"] = 3.0
    assert part_headings(measurement)[4] == "init" and part_rows(measurement)[0][4] == "3.00"


def test_tables_and_pages(measurement, capsys):
    show_measurement(measurement)
    shown = capsys.readouterr().out
    assert "MPI_Ialltoall, 2 ranks" in shown and "80 ±8" in shown and "blocking call of the same contender" in shown
    page = render_page("Title", "", [measurement])
    assert page.count('<svg class="wide"') == 3 and "overlap\u00a0%" in page and "80 ±8" in page
    drawn = xml.fromstring(draw_file(overlap_chart(measurement)))
    assert len(drawn.findall(".//{http://www.w3.org/2000/svg}polyline")) == 2


def test_wrong_data_get_a_column(measurement, capsys):
    measurement["results"][1]["wrong"] = 2
    show_measurement(measurement)
    assert "2 wrong" in capsys.readouterr().out


def test_what_did_not_run_is_no_result(measurement, capsys):
    measurement["results"] += [result(size, "bruck", 1.0, 0, not_run=True) for size in (8, 16)]
    set_aside_not_run(measurement)
    assert not any(one["contender"] == "bruck" for one in measurement["results"]) and len(measurement["not_run"]) == 2
    assert not_run_sentences(measurement) == ["bruck did not run at 8 B to 16 B: native did. These times are left out."]
    show_measurement(measurement)
    assert "bruck did not run" in capsys.readouterr().out and "bruck did not run" in render_page("Title", "", [measurement])


def test_how_much_faster_and_where():
    assert (times_faster(1.4), times_faster(1.0), times_faster(0.25)) == ("1.40 times faster", "1.00 times faster", "4.00 times slower")
    assert small_speedup([]) is None
    assert verdict({"results": [], "checked": True}) == "Nothing was measured."
