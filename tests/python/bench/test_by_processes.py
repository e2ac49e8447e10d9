"""Measurements by the number of processes a GPU: one job after the other, one result, charts and tables beside the paper's figures. Nothing is started here."""

import csv
import io
from contextlib import nullcontext

import pytest

from crossrail import core
from crossrail.bench import by_processes
from crossrail.bench import run as bench_run
from crossrail.bench.by_processes import joined, measure_ping_pong, measure_with_helpers, one_after_the_other
from crossrail.bench.measurements import caveats, of_processes, processes_of, title, wrong_blocks
from crossrail.bench.request import BenchRequest, Effort, What, Where, bench_options
from crossrail.bench.run import Starter
from crossrail.cli.bench import code_of, save_measurement
from crossrail.cli.performance import draw_images, markdown_section
from crossrail.errors import CliError, Stopped
from crossrail.launchers import Job, Launcher
from crossrail.report.chart_drawing import draw
from crossrail.report.measurement_tables import show_measurement
from crossrail.report.measurement_text import measurement_csv, osu_lines
from crossrail.report.page import render_page
from crossrail.report.process_charts import bandwidth_chart, gain_chart, gains, thinned, time_chart
from crossrail.report.process_tables import median_rows, paper_rows

SIZES = (64 << 10, 1 << 20)


def result(contender, size, time, **more):
    return {"contender": contender, "algorithm": "multi_lane", "bytes": size, "repetitions": 9, "min_us": time, "mean_us": time, "p50_us": time, "p99_us": time,
            "max_us": time, "gb_s": size / time / 1e3, "wrong": 0, **more}


def job(count=1, **more):
    """The measurement of one job, in which a call of 1 MiB takes the less time the more processes there are; one of 64 KiB does not."""
    return {"collective": "allreduce", "mpi": "Open MPI v4.1.6", "flavour": "openmpi", "ranks": 2, "nodes": 2, "ranks_per_node": 1, "memory": "cuda",
            "device": "NVIDIA H100", "driver": "580.1", "cores": 32, "checked": True, "machine": {"host": "h"}, "results":
            [result("auto", SIZES[0], 40.0), result("auto", SIZES[1], 800.0 / count), result("nccl_allreduce", SIZES[1], 600.0)], **more}


def measured(counts=(1, 2, 4), **more):
    """Of jobs with so many processes a GPU."""
    return joined([by_processes.marked(job(count, **more), "helpers", count - 1) for count in counts])


@pytest.fixture
def ping_pong():
    rows = [result("host", size, 100.0 / count, processes=count) for count in (1, 16) for size in SIZES]
    return {**job(), "collective": "pingpong", "memory": "host", "gpus": 2, "process_counts": [1, 16], "results": rows}


def test_one_measurement_of_several_jobs():
    whole = measured(notes=["bench: same words"])
    assert whole["process_counts"] == [1, 2, 4] and len(whole["results"]) == 9 and whole["notes"] == ["bench: same words"]
    part = of_processes(whole, 4)
    assert {processes_of(row) for row in part["results"]} == {4} and "process_counts" not in part and len(whole["results"]) == 9
    assert processes_of({"processes": 8}) == 8 and processes_of({"helpers": 3}) == 4 and processes_of({}) == 1
    assert wrong_blocks(joined([job(), {"results": [result("auto", 8, 1.0, wrong=2)]}])) == 2
    assert joined([{**job(), "cut_short_at_bytes": 0}, {**job(), "cut_short_at_bytes": 4096}])["cut_short_at_bytes"] == 4096


@pytest.mark.parametrize("error, mark, code", [(CliError("The bench program failed."), "failed", 2), (Stopped("Stopped."), "stopped", 130),
                                               (KeyboardInterrupt(), "stopped", 130)])
def test_what_was_measured_before_a_job_fails_is_kept(error, mark, code, capsys):
    def fails():
        raise error

    whole = one_after_the_other([job, fails, lambda: pytest.fail("another job was started")])
    assert len(whole["results"]) == 3 and whole[mark] and code_of(whole, "auto") == code and "are kept" in capsys.readouterr().err
    with pytest.raises(type(error)):
        one_after_the_other([fails, job])


def test_every_number_is_a_job(monkeypatch):
    seen = []
    monkeypatch.setattr(by_processes, "measure", lambda request, machine: seen.append(request) or job(request.where.helpers + 1))
    monkeypatch.setattr(core, "explain", lambda question: {"candidates": [{"algorithm": "multi_lane", "parameters": {"processes": 2, "part": 1 << 20}}]})
    monkeypatch.delenv("CROSSRAIL_NODES", raising=False)
    request = BenchRequest(What("allreduce", memory="cuda"), Where(2))
    whole = measure_with_helpers(request, [0, 3], None)
    assert [one.where.helpers for one in seen] == [0, 3] and whole["process_counts"] == [1, 4] and whole["results"][-1]["helpers"] == 3
    assert whole["notes"] == ["crossrail's own choice lets 2 processes of a GPU share a message at most; --algorithms 'multi_lane part=1M processes=4' lets all of them."]
    assert "notes" not in measure_with_helpers(request, [0, 1], None)
    monkeypatch.setattr(by_processes, "measure", lambda request, machine: {**job(), "nodes": 1})
    assert "on one node" in measure_with_helpers(request, [0, 1], None)["notes"][0]


def test_a_ping_pong_has_as_many_ranks_as_processes_on_two_nodes(monkeypatch):
    seen = []
    monkeypatch.setattr(by_processes, "measure", lambda request, machine: seen.append(request) or job())
    whole = measure_ping_pong(What("pingpong"), Where(2), Effort(most_seconds=60.0), {"counts": [1, 4], "gpus": 2, "machine": None})
    assert [(one.where.ranks, one.what.processes, one.effort.most_seconds) for one in seen] == [(4, 1, 30.0), (16, 4, 30.0)] and whole["gpus"] == 2
    assert bench_options(seen[1])[-2:] == ["--processes", "4"]


def test_nothing_is_measured_with_processes_that_do_not_start(monkeypatch):
    started = []
    monkeypatch.setattr(bench_run, "helpers_of", lambda job, count, *starting: nullcontext())
    monkeypatch.setattr(bench_run, "supervise", lambda words, output: started.append(words) or 0)
    run = Job(Launcher("/bin/true", "openmpi"), 2, ["./app"])
    with pytest.raises(CliError, match="Nothing is measured with 3 helper processes a GPU, since they do not start"):
        Starter(None, 2, 3)(run, None)
    assert Starter(None, 2)(run, None) == 0 and len(started) == 1
    run.environment["CROSSRAIL_HELPERS"] = "key:3"
    assert Starter(None, 2, 3)(run, None) == 0


def test_the_title_and_the_file_say_the_numbers(ping_pong, tmp_path):
    assert title(measured()).endswith("memory of NVIDIA H100 (driver 580.1), 1, 2 and 4 processes a GPU")
    assert title(ping_pong) == "Ping-pong between two nodes, 2 GPUs a node, 1 and 16 processes a GPU, Open MPI v4.1.6, host memory"
    assert save_measurement(measured(), tmp_path).name == "allreduce_openmpi_2ranks_2nodes_cuda_1_2_4processes_h.json"
    assert any("on one node" in note for note in caveats({**ping_pong, "nodes": 1})) and not any("on one node" in note for note in caveats(ping_pong))


def test_gains_are_over_the_fewest():
    found = gains(measured())
    assert found[1][SIZES[1]] == 1.0 and found[4] == {SIZES[0]: 1.0, SIZES[1]: 4.0}
    assert gains({**job(), "process_counts": [], "results": []}) == {}
    assert median_rows(measured())[1] == ["1 MiB", "800", "400", "200", "2.00", "4.00"]


def test_charts_have_a_line_for_every_number():
    for chart in (time_chart(measured()), bandwidth_chart(measured())):
        assert [series.name for series in chart.series] == ["best NCCL", "1 process", "2 processes", "4 processes"]
    lines = {series.name: series.points for series in gain_chart(measured()).series}
    assert lines == {"64 KiB": [(1, 1.0), (2, 1.0), (4, 1.0)], "1 MiB": [(1, 1.0), (2, 2.0), (4, 4.0)], "the paper, Delta": [(16, 1.7)]}
    assert gain_chart(measured((2, 4))).series[-1].name == "1 MiB" and not gain_chart(measured((4,))).series
    assert ">16</text>" in draw(gain_chart(measured())) and "16 B" not in draw(gain_chart(measured()))


def test_few_sizes_have_a_line():
    assert thinned([1 << power for power in range(10, 27)]) == [1 << power for power in range(16, 27, 2)] and thinned([8, 16]) == [8, 16] and thinned([]) == []


def test_beside_the_paper(ping_pong):
    rows = paper_rows(ping_pong)
    assert rows[0][1:] == ["16", "3.49"] and rows[-1] == ["here: 1 MiB", "16", "16.00"]
    assert paper_rows(measured())[-1] == ["here: 1 MiB", "4", "4.00"]
    assert paper_rows(measured((2, 4))) == [] and paper_rows({**measured(), "collective": "alltoall"}) == []


def test_what_is_shown_and_written(ping_pong, capsys, tmp_path):
    show_measurement(measured())
    said = " ".join(capsys.readouterr().out.split())
    assert "With 2 processes a GPU" in said and "best NCCL" in said and "here: 1 MiB: 4.00 times as fast with 4 processes as with one." in said
    show_measurement(ping_pong)
    assert "3.49 times as fast with 16 processes" in " ".join(capsys.readouterr().out.split())
    page = render_page("t", "", [measured(), ping_pong])
    assert page.count("<figure class=\"chart\">") == 6 and "With 4 processes a GPU" in page and "Beside the paper" in page
    images = draw_images(measured(), "allreduce", tmp_path)
    assert images == [f"images/allreduce_{word}.svg" for word in ("time", "bandwidth", "processes")] and all((tmp_path / one).is_file() for one in images)
    section = markdown_section(measured(), images)
    assert "(images/allreduce_processes.svg)" in section and "| 1 MiB | 800 | 400 | 200 | 2.00 | 4.00 |" in section and "| here: 1 MiB | 4 | 4.00 |" in section


def test_for_other_programs(ping_pong):
    rows = list(csv.DictReader(io.StringIO(measurement_csv(measured()))))
    assert [row["helpers"] for row in rows[::3]] == ["0", "1", "3"] and rows[0]["counts"] == "equal"
    assert list(csv.DictReader(io.StringIO(measurement_csv(ping_pong))))[-1]["processes"] == "16"
    heads = [line for line in osu_lines(ping_pong) if line.startswith("# Contender")]
    assert heads == ["# Contender: host, 1 process a GPU", "# Contender: host, 16 processes a GPU"]


def test_hardly_any_speed_is_no_error(ping_pong, capsys):
    for row in ping_pong["results"]:
        row["p50_us"] *= 1e6 if row["processes"] == 16 else 1
    show_measurement(ping_pong)
    assert "here: 1 MiB: <0.01 times as fast" in " ".join(capsys.readouterr().out.split()) and "&lt;0.01" in render_page("t", "", [ping_pong])


def test_nothing_measured_is_no_error(ping_pong, capsys):
    show_measurement({**ping_pong, "results": [], "process_counts": []})
    assert "Nothing was measured." in capsys.readouterr().out
