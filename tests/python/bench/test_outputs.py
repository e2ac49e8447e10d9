"""What a bench tells beside its tables, and what it keeps when it ends too early."""

import csv
import io
import json
import os
import signal
from dataclasses import replace

import pytest

from crossrail.bench import run as bench_run
from crossrail.bench.measurements import caveats, compare, interval, is_clear, title
from crossrail.bench.request import BenchRequest, What, Where, bench_options, check_request
from crossrail.cli import bench as bench_cli
from crossrail.cli.bench import Outputs, check_outputs, code_of, conclude, save_measurement
from crossrail.errors import CliError, Stopped
from crossrail.launchers import Job, Launcher
from crossrail.report.measurement_tables import show_measurement
from crossrail.report.measurement_text import measurement_csv, osu_lines
from crossrail.report.page import render_page


def result(size, contender, p50, half):
    """One result of a bench program; the interval is p50 ± half."""
    return {"bytes": size, "contender": contender, "algorithm": "native" if contender == "native" else "bruck", "repetitions": 50, "min_us": p50 / 2,
            "mean_us": p50 + 0.25, "p50_us": p50, "p50_low_us": p50 - half, "p50_high_us": p50 + half, "p99_us": 2 * p50, "max_us": 3 * p50, "gb_s": 0.1,
            "wrong": 0}


@pytest.fixture
def measurement():
    """Apart at 8 bytes, not at 16."""
    rows = [result(8, "native", 4.0, 0.5), result(8, "auto", 2.0, 0.5), result(16, "native", 4.0, 0.5), result(16, "auto", 3.5, 0.5)]
    return {"collective": "alltoall", "mpi": "Open MPI, 4.1.4", "flavour": "openmpi", "ranks": 2, "nodes": 1, "checked": True, "cores": 2,
            "results": rows, "machine": {"host": "h"}, "date": "2026-01-02", "commit": "abc"}


def test_intervals_tell_a_difference_from_noise(measurement, capsys):
    assert [is_clear(one) for one in compare(measurement)] == [True, False]
    assert interval(measurement["results"][0]) == (3.5, 4.5) and interval({"p50_us": 1.0}) is None
    show_measurement(measurement)
    said = capsys.readouterr().out
    assert "reps" in said and " 50 " in said and "4.00 [3.50, 4.50]" in said and "They overlap at 16 B: no difference beyond the noise there." in " ".join(said.split())
    assert "2.00 [1.50, 2.50]" in render_page("t", "", [measurement])


def test_measurements_without_intervals_are_shown_as_before(measurement, capsys):
    for one in measurement["results"]:
        del one["p50_low_us"], one["p50_high_us"]
    show_measurement(measurement)
    assert "In brackets" not in capsys.readouterr().out
    assert not any(is_clear(one) for one in compare(measurement))


def test_csv_has_every_result_and_flags(measurement):
    measurement.update(in_place=True, not_run=[{**result(32, "foo", 1.0, 0.1), "not_run": True}])
    rows = list(csv.DictReader(io.StringIO(measurement_csv(measurement))))
    assert len(rows) == 5 and rows[0]["mpi"] == "Open MPI, 4.1.4" and rows[0]["in_place"] == "1" and rows[0]["off_cache"] == "0"
    assert (rows[1]["bytes"], rows[1]["contender"], rows[1]["p50_low_us"], rows[1]["memory"]) == ("8", "auto", "1.5", "host")
    assert [row["not_run"] for row in rows] == ["0"] * 4 + ["1"]


def test_osu_columns(measurement):
    lines = osu_lines(measurement)
    numbers = [line.split() for line in lines if not line.startswith("#")]
    assert numbers[0] == ["8", "4.25", "2.00", "12.00", "50"] and len(numbers) == 4
    assert any("Avg Latency(us)" in line for line in lines)
    del measurement["results"][1]["mean_us"]
    assert any("Median Latency(us)" in line for line in osu_lines(measurement))


def test_calls_in_parts_have_them_everywhere(measurement):
    """Nonblocking calls: what the table shows is in the CSV, and in the columns of osu_ialltoall."""
    times = {"pure": 2.0, "start": 0.5, "wait": 1.25, "compute": 2.25, "total": 3.0, "blocking": 1.5}
    for one in measurement["results"]:
        one.update({name: {"p25_us": time, "p50_us": time, "p75_us": time} for name, time in times.items()},
                   overlap={"p25_percent": 60.0, "p50_percent": 62.5, "p75_percent": 65.0})
    measurement["results"][1]["init_us"] = 7.0
    rows = list(csv.DictReader(io.StringIO(measurement_csv(measurement))))
    assert {name: float(rows[0][f"{name}_us"]) for name in times} == times and rows[0]["overlap_percent"] == "62.5"
    assert [row["init_us"] for row in rows] == ["", "7.0", "", ""]
    lines = osu_lines(measurement)
    assert "# Size Overall(us) Compute(us) Pure Comm.(us) Overlap(%) Iterations" in [" ".join(line.split()) for line in lines] and "medians" in lines[1]
    assert next(line.split() for line in lines if line[0] != "#") == ["8", "3.00", "2.25", "2.00", "62.50", "50"]


def test_osu_is_all_of_standard_output(measurement, capsys, tmp_path):
    conclude(measurement, Outputs(tmp_path / "r", tmp_path / "x.html", tmp_path / "x.csv", "osu"))
    said = capsys.readouterr()
    assert said.out.splitlines() == osu_lines(measurement) and "x.csv" in said.err
    assert (tmp_path / "x.csv").read_text() == measurement_csv(measurement) and (tmp_path / "x.html").is_file()


def test_outputs_are_looked_at_first(tmp_path):
    check_outputs(Outputs(tmp_path / "made/later", tmp_path / "x.html", tmp_path / "x.csv"))
    for outputs in (Outputs(csv=tmp_path / "no/x.csv"), Outputs(csv=tmp_path), Outputs(html=tmp_path / "no/x.html"), Outputs(form="ozu")):
        with pytest.raises(CliError):
            check_outputs(outputs)
    assert not (tmp_path / "made").exists()


def request_of(**more):
    return BenchRequest(What("alltoall", **more), Where(2))


def test_buffers_are_said_wherever_a_measurement_is(measurement, tmp_path):
    assert bench_options(request_of(in_place=True, off_cache=True))[:2] == ["--in-place", "--off-cache"] and bench_options(request_of()) == []
    measurement.update(in_place=True, off_cache=True)
    assert title(measurement).endswith(", in place, off cache") and "in_place_off_cache" in save_measurement(measurement, tmp_path).name
    assert any("flushed" in note for note in caveats(measurement)) and not any("stay in the caches" in note for note in caveats(measurement))


def test_fresh_buffers_and_lengths_are_said_too(measurement, tmp_path):
    options = bench_options(BenchRequest(What("alltoallv", memory="cuda", counts="zipf", fresh=True), Where(2)))
    assert options == ["--fresh", "--memory", "cuda", "--counts", "zipf"] and bench_options(request_of(buffers=32)) == ["--buffers", "32"]
    measurement.update(fresh=True, counts="zipf")
    assert title(measurement).endswith(", lengths of blocks by Zipf's law, buffers allocated for every call")
    assert "fresh_zipf" in save_measurement(measurement, tmp_path).name
    assert any("allocated before every call" in note for note in caveats(measurement)) and not any("stay in the caches" in note for note in caveats(measurement))


def test_slices_and_a_kernel_beside_are_said_too(measurement, tmp_path):
    assert bench_options(request_of(memory="cuda", slices=True, beside=True)) == ["--slices", "--beside", "--memory", "cuda"]
    measurement.update(slices=True, beside=True)
    assert title(measurement).endswith(", slices of one allocation, beside a kernel") and "slices_beside" in save_measurement(measurement, tmp_path).name
    assert "another slice" in (notes := " ".join(caveats(measurement))) and "half of each device's" in notes and "The same buffers" not in notes
    row = next(csv.DictReader(io.StringIO(measurement_csv(measurement))))
    assert (row["slices"], row["beside"], row["fresh"]) == ("1", "1", "0")


@pytest.mark.parametrize("more", [{"datatype": "vector"}, {"memory": "cuda"}, {"peers": ("a=b:c",)}])
def test_in_place_where_it_cannot_be(more):
    check_request(request_of(in_place=True))
    with pytest.raises(CliError, match="--in-place is for|contiguous data only"):
        check_request(request_of(in_place=True, **more))


def test_off_cache_is_of_blocking_calls():
    request = request_of(off_cache=True)
    check_request(request)
    with pytest.raises(CliError, match="--off-cache is for blocking calls"):
        check_request(replace(request, what=replace(request.what, form="nonblocking")))


def ends_early(measurement, signals):
    """A start of a bench that keeps its first sizes; a signal comes where `signals`."""
    def start(job, _output):
        with open(job.program[0], "w", encoding="utf-8") as file:
            json.dump({**measurement, "unfinished": True}, file)
        if signals:
            os.kill(os.getpid(), signal.SIGHUP)
        return 1
    return start


@pytest.mark.parametrize("signals, mark, code", [(True, "stopped", 130), (False, "failed", 2)])
def test_what_was_measured_before_the_end_is_kept(signals, mark, code, measurement, monkeypatch, capsys):
    before = signal.signal(signal.SIGHUP, lambda *_: None)
    monkeypatch.setattr(bench_run, "bench_job", lambda request, output: Job(Launcher("/bin/true", "openmpi"), 2, [str(output)]))
    monkeypatch.setattr(bench_run.Starter, "__call__", lambda self, job, output: ends_early(measurement, signals)(job, output))
    monkeypatch.setattr(bench_run, "describe_machine", lambda name: {"host": "h"})
    try:
        got = bench_run.measure(request_of())
        with pytest.raises(bench_run.Unfinished):  # It needs all sizes.
            bench_run.run_bench(request_of(), ends_early(measurement, False))
    finally:
        signal.signal(signal.SIGHUP, before)
    assert got[mark] and "unfinished" not in got and len(got["results"]) == 4
    assert code_of(got, "native,auto") == code and "are kept" in capsys.readouterr().err
    assert any("only 8 B to 16 B was measured" in note for note in caveats(got))


def test_a_stop_before_the_first_size(monkeypatch):
    def start(_self, _job, _output):
        os.kill(os.getpid(), signal.SIGHUP)
        return 1

    before = signal.signal(signal.SIGHUP, lambda *_: None)
    monkeypatch.setattr(bench_run, "bench_job", lambda request, output: Job(Launcher("/bin/true", "openmpi"), 2, []))
    monkeypatch.setattr(bench_run.Starter, "__call__", start)
    try:
        with pytest.raises(Stopped, match="nothing is kept"):
            bench_run.measure(request_of())
    finally:
        signal.signal(signal.SIGHUP, before)
    assert Stopped.exit_code == 130 and bench_cli.FORMATS == ("table", "osu")
