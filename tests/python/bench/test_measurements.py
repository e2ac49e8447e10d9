"""The arithmetic of tables, pages and charts."""

import math

import pytest

from crossrail.bench.measurements import compare, contenders, lag_behind_alltoall, small_speedup, title, verdict, wrong_blocks
from crossrail.cli.bench import save_measurement
from crossrail.cli.performance import BEGIN, END, markdown_section, replace_tables
from crossrail.errors import CliError
from crossrail.report.measurement_tables import show_measurement
from crossrail.report.page import render_page


def result(size, contender, p50, **more):
    """One result of a bench program."""
    return {"bytes": size, "contender": contender, "algorithm": "native" if contender == "native" else "node_shared", "repetitions": 100,
            "min_us": p50 / 2, "p50_us": p50, "p99_us": 2 * p50, "max_us": 3 * p50, "wrong": 0, **more}


@pytest.fixture
def measurement():
    """Twice as fast at 1 B, eight times at 1 KiB, half as fast at 2 KiB; bruck at one size only."""
    rows = [result(1, "auto", 1.0), result(1, "native", 2.0), result(1024, "native", 8.0), result(1024, "auto", 1.0),
            result(2048, "native", 1.0), result(2048, "auto", 2.0), result(1024, "bruck", 4.0)]
    return {"collective": "alltoall", "mpi": "Open MPI v4.1.4", "flavour": "openmpi", "ranks": 8, "nodes": 1, "ranks_per_node": 8, "cores": 2,
            "oversubscribed": True, "checked": True, "rotating_buffers": 1, "results": rows, "machine": {"host": "<h>"}, "date": "2026-01-02", "commit": "abc"}


def test_speedups_by_size(measurement):
    assert [(one.bytes, one.speedup) for one in compare(measurement)] == [(1, 2.0), (1024, 8.0), (2048, 0.5)]
    assert [(one.bytes, one.speedup) for one in compare(measurement, "bruck")] == [(1024, 2.0)]
    assert contenders(measurement) == ["native", "auto", "bruck"]


def test_alltoallv_against_alltoall(measurement):
    assert lag_behind_alltoall(measurement) is None
    measurement["collective"] = "alltoallv"
    measurement["results"] += [result(1, "alltoall", 1.0), result(1024, "alltoall", 0.5)]
    assert lag_behind_alltoall(measurement) == ("crossrail's alltoallv takes 1.41 of the time of its alltoall for the same exchange "
                                                "(geometric mean), at worst 2.00 at 1 KiB.")


def test_the_mean_of_small_sizes(measurement):
    small = small_speedup(compare(measurement))
    assert math.isclose(small.mean, 4.0) and small.sizes == "1 B to 1 KiB"
    assert small_speedup([]) is None


def test_wrong_and_unchecked_data_are_said(measurement):
    assert verdict(measurement) == "Every byte received was checked and right."
    measurement["results"][0]["wrong"] = 3
    assert wrong_blocks(measurement) == 3 and verdict(measurement) == "3 blocks were wrong."
    measurement["results"][0]["wrong"] = 0
    measurement["checked"] = False
    assert verdict(measurement) == "The data were not checked."


def test_the_page_is_self_contained_and_escaped(measurement):
    page = render_page("Title", "", [measurement])
    assert page.count('<svg class="wide"') == 2 and "4.00×" in page and "at worst: 2 KiB" in page
    assert "&lt;h&gt;" in page and "src=" not in page and "href=" not in page
    assert "More ranks than cores" in page


def test_a_datatype_is_named_wherever_a_measurement_is(measurement, capsys, tmp_path):
    plain = title(measurement)
    measurement["datatype"] = "contiguous"
    assert title(measurement) == plain and save_measurement(measurement, tmp_path).name == "alltoall_openmpi_8ranks_1nodes_h.json"
    measurement["datatype"] = "vector:contiguous"
    named = f"{plain}, datatype vector:contiguous"
    show_measurement(measurement)
    assert "datatype vector:contiguous" in " ".join(capsys.readouterr().out.split())
    assert f"<h2>{named}</h2>" in render_page("Title", "", [measurement]) and f"### {named}: <h>" in markdown_section(measurement)
    assert save_measurement(measurement, tmp_path).name == "alltoall_openmpi_8ranks_1nodes_vector_to_contiguous_h.json"


def test_the_maintainers_tables(measurement):
    section = markdown_section(measurement)
    assert "| 1 KiB | 8.00 | 16.0 | 1.00 | 2.00 | 8.00 | `node_shared` |" in section
    assert replace_tables(f"a\n{BEGIN}\nold\n{END}\nb", ["new"]) == f"a\n{BEGIN}\n\nnew\n{END}\nb"
    with pytest.raises(CliError):
        replace_tables("no marks", ["new"])
