"""Charts: ticks, names, colours, bands, and the tables beside them."""

import itertools
import math
import xml.etree.ElementTree as xml

import pytest

from crossrail.bench.measurements import compare
from crossrail.report.chart import Chart, Series, format_tick, size_ticks, value_range, value_ticks
from crossrail.report.chart_bands import CUT, within
from crossrail.report.chart_drawing import draw, draw_file
from crossrail.report.chart_labels import LABEL_DISTANCE, LONGEST, name_lines, place_names
from crossrail.report.chart_style import COLOURS, DARK, LIGHT, MARKS, colour_number, dash_of
from crossrail.report.contender_tables import comparison_table, few_repetitions, medians_table, styles
from crossrail.report.measurement_charts import latency_chart
from crossrail.report.page import machine_line, origin_line, render_page
from crossrail.report.size_words import size_axis, size_words

SVG = "{http://www.w3.org/2000/svg}"


def lines_of(count):
    """Lines that all end at the same place."""
    return [Series(f"algorithm_{at}", at, [(1, 1.0), (1024, 10.0)]) for at in range(count)]


def test_ticks_cover_the_values():
    assert value_ticks(0.3, 9.0)[0] == [0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
    assert value_ticks(0.3, 900.0)[0] == [0.1, 1.0, 10.0, 100.0, 1000.0]
    major, minor = value_ticks(1.0, 1.0)
    assert major == [0.5, 1.0, 2.0] and all(0.5 < one < 2.0 for one in minor)


@pytest.mark.parametrize("low, high", [(1, 2**20), (16, 2**28), (24, 1500), (1, 8), (2**20, 2**30)])
def test_the_axis_of_sizes_has_powers_of_two(low, high):
    labelled, every = size_ticks(low, high)
    assert 2 <= len(labelled) <= 12 and set(labelled) <= set(every)
    powers = [math.log2(one) for one in labelled]
    assert all(one == int(one) for one in powers) and len({b - a for a, b in zip(powers, powers[1:])}) <= 1
    assert all(low <= one <= high for one in every)


def test_sizes_without_a_power_of_two_between_them_are_their_own_ticks():
    assert size_ticks(1100, 1500) == ([1100, 1500], [])


def test_ticks_say_their_unit():
    assert [format_tick(value, " µs") for value in (0.5, 200, 1000, 2e6)] == ["0.5 µs", "200 µs", "1 ms", "2 s"]
    assert format_tick(2, "") == "2×" and format_tick(40, " %") == "40 %"


@pytest.mark.parametrize("wanted", [[100.0] * 10, [5.0, 5.0, 300.0], [300.0] * 18, [10.0, 200.0, 190.0]])
def test_names_stand_apart_within_the_picture(wanted):
    lines = [1 + at % 2 for at in range(len(wanted))] if len(wanted) < 12 else [1] * len(wanted)
    placed = place_names(wanted, lines, 0.0, 310.0)
    order = sorted(range(len(wanted)), key=lambda at: placed[at])
    assert [wanted[at] for at in order] == sorted(wanted)
    for above, below in zip(order, order[1:]):
        assert placed[below] - placed[above] >= LABEL_DISTANCE * (lines[above] + lines[below]) / 2 - 1e-9
    assert placed[order[0]] >= LABEL_DISTANCE / 2 and placed[order[-1]] <= 310.0 - LABEL_DISTANCE / 2


def test_long_names_take_two_lines():
    assert name_lines("leader_pipelined leaders=3 packet=65536") == ["leader_pipelined leaders=3", "packet=65536"]
    assert name_lines("native MPI") == ["native MPI"]
    assert all(len(line) <= LONGEST for line in name_lines("a" * 60 + " b c " + "d" * 40)) and len(name_lines("x " * 100)) == 2


def oklab(colour):
    """A colour where distances are those that people see."""
    r, g, b = ((c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4) for c in (int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)))
    l, m, s = (c ** (1 / 3) for c in (0.4122 * r + 0.5363 * g + 0.0514 * b, 0.2119 * r + 0.6807 * g + 0.1074 * b, 0.0883 * r + 0.2817 * g + 0.63 * b))
    return 0.2105 * l + 0.7936 * m - 0.0041 * s, 1.978 * l - 2.4286 * m + 0.4506 * s, 0.0259 * l + 0.7828 * m - 0.8087 * s


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_ten_colours_are_told_apart(colours):
    assert len(colours) == len(MARKS) == COLOURS == 10
    assert min(math.dist(oklab(a), oklab(b)) for a, b in itertools.combinations(colours, 2)) > 0.07


def test_more_lines_than_colours_differ_by_dashes():
    assert len({(colour_number(style), dash_of(style)) for style in range(2, 26)}) == 24
    assert not any(colour_number(style) < 2 for style in range(2, 60))


def test_crossrail_is_drawn_last_and_so_on_top():
    chart = Chart("c", "v", " µs", [Series("crossrail", 0, [(1, 1.0), (8, 2.0)]), *lines_of(9)[2:]])
    drawn = xml.fromstring(draw_file(chart))
    assert [group.get("data-name") for group in drawn.iter(f"{SVG}g") if group.get("data-name")][-1] == "crossrail"


def test_a_band_is_drawn_where_the_spread_is_known_and_stretches_the_axis_only_so_far():
    own = Series("crossrail", 0, [(1, 10.0), (8, 10.0)], [(1, 9.0, 15.0), (8, 1e-3, 1e9)])
    chart = Chart("c", "v", " µs", [own], bands="Bands: all of it.")
    assert value_range(chart) == (0.1, 1000.0)
    assert 'class="band c0"' in draw(chart) and "Bands: all of it." in draw(chart)
    assert "band" not in draw(Chart("c", "v", " µs", [Series("crossrail", 0, own.points)], bands="Bands"))


def test_a_band_within_the_reach_of_the_axis_is_drawn_whole_and_one_beyond_is_cut_with_an_arrow_and_a_note():
    held = Chart("c", "v", " µs", [Series("crossrail", 0, [(1, 10.0), (8, 10.0)], [(1, 9.0, 15.0), (8, 1.0, 900.0)])], bands="Bands.")
    assert CUT not in draw(held) and "cut" not in draw(held)
    beyond = Chart("c", "v", " µs", [Series("crossrail", 0, [(1, 10.0), (8, 10.0)], [(1, 9.0, 15.0), (8, 1.0, 9e5)])], bands="Bands.")
    assert CUT in draw(beyond) and draw(beyond).count('class="point cut c0"') == 2


def test_a_cut_edge_runs_along_the_edge_of_the_plot():
    assert within([(0, 50), (10, -50), (20, 50)], 0, 100) == [(0, 50), (5, 0), (10, 0), (15, 0), (20, 50)]
    assert within([(0, -100), (8, 300)], 0, 100) == [(0, 0), (2, 0), (4, 100), (8, 100)]
    assert within([(0, 1), (10, 2)], 0, 100) == [(0, 1), (10, 2)]


def test_the_axis_of_sizes_says_of_what():
    assert [size_axis(call) for call in ("ialltoall", "MPI_Iallreduce")] == ["bytes from each rank to each other", "bytes of the elements of one rank"]
    assert "bytes of the block of one rank" in draw(latency_chart({"collective": "iallgather", "results": [contender("auto", size, 1.0) for size in (1, 2)]}))
    assert size_words("MPI_Reduce_scatter_block_init") == "the block each rank gets" and size_words("MPI_Ialltoallv") == size_words("alltoallw")


P99 = "Of fewer than 100 the p99 is the slowest one, or close to it."


def counted(*counts):
    """A measurement with these repetitions: (contender, size, repetitions)."""
    return {"results": [{**contender(name, size, 1.0), "repetitions": count} for name, size, count in counts]}


def test_few_repetitions_are_said_with_whose_they_are():
    both = counted(("native", 8, 30), ("auto", 8, 30), ("native", 16, 60), ("auto", 16, 60), ("native", 32, 1000), ("auto", 32, 1000))
    assert few_repetitions(both) == [f"All contenders had 30 to 60 repetitions at 8 B to 16 B. {P99}"]
    assert few_repetitions({"results": both["results"][:2]}) == [f"All contenders had 30 repetitions at every size. {P99}"]
    assert few_repetitions({"results": both["results"][4:]}) == few_repetitions({"results": [contender("auto", 8, 1.0)]}) == []
    unequal = counted(("native", 8, 3), ("native", 16, 1000), ("native", 32, 27), ("auto", 8, 1000), ("auto", 16, 1000), ("auto", 32, 50), ("ring", 32, 50))
    assert few_repetitions(unequal) == [f"Native MPI had 3 to 27 repetitions at 2 sizes from 8 B to 32 B; crossrail and ring had 50 repetitions at 32 B. {P99}"]


def test_repetitions_are_a_column():
    page = comparison_table(unequal := counted(("native", 8, 3), ("auto", 8, 1000), ("native", 16, 200), ("auto", 16, 200)), compare(unequal))
    assert "repetitions</th>" in page and "<td>3 / 1 000</td>" in page and "<td>200</td>" in page
    page = medians_table(counted(("native", 8, 3), ("auto", 8, 1000), ("ring", 8, 9), ("native", 16, 7), ("auto", 16, 7)))
    assert "repetitions</th>" in page and "<td>3 to 1 000</td>" in page and "<td>7</td>" in page


def test_charts_with_one_size_are_bars_and_without_points_nothing():
    assert draw(Chart("c", "v", "", [Series("s", 0, [])])) == ""
    bars = draw(Chart("c", "v", " µs", [Series("s", 0, [(1024, 2.0)]), Series("t", 1, [(1024, 4.0)])]))
    assert "<polyline" not in bars and "width: 50%" in bars and "width: 100%" in bars and "1 KiB" in bars


def contender(name, size, time):
    """One result of a bench."""
    return {"contender": name, "algorithm": name, "bytes": size, "p50_us": time, "p99_us": 2 * time, "min_us": time / 2, "wrong": 0}


def test_the_table_has_all_contenders_and_the_least_in_bold():
    measurement = {"results": [contender(name, 8, 1.0 + at) for at, name in enumerate(("auto", "native", "a<b", "ring"))] + [contender("ring", 16, 9.0)]}
    table = medians_table(measurement)
    assert all(name in table for name in ("crossrail", "native</span> MPI", "a&lt;b", "ring")) and "<td class=best>1.00</td>" in table and table.count("<td>-</td>") == 5
    assert styles(measurement) == {"native": 1, "auto": 0, "a<b": 2, "ring": 3}


def test_without_native_mpi_the_first_of_nccl_has_its_style():
    measurement = {"results": [contender(name, 8, 1.0) for name in ("auto", "packet", "nccl_alltoall", "nccl_symmetric")]}
    assert styles(measurement) == {"auto": 0, "packet": 2, "nccl_alltoall": 1, "nccl_symmetric": 3}


def test_a_slower_crossrail_is_said_to_be_slower_and_nothing_is_left_empty():
    measurement = {"collective": "alltoall", "ranks": 2, "cores": 2, "commit": "", "machine": {"host": "h", "cpu": "Intel Xeon,"}, "checked": True,
                   "results": [contender("native", 8, 1.0), contender("auto", 8, 4.8), contender("native", 16, 1.0), contender("auto", 16, 4.8)]}
    page = render_page("Title", "", [measurement])
    assert "<b>4.80×</b>slower" in page and "0.21× faster" not in page
    assert machine_line(measurement) == "h, Intel Xeon, 2 cores" and origin_line(measurement).endswith("an unknown day")
