"""What part of a run its collective calls take, why they were native, and the command that shows it."""

import csv
import json

import pytest

from crossrail.cli.app import main
from crossrail.report.call_reports import add_up
from crossrail.report.calls_page import render_calls
from crossrail.report.time_share import reason_rows, run_time, share_rows, shared_line


def process(rank, carried, native, **more):
    """A process that ran 4 s: its time line has parts of 1 s."""
    call = {"name": "MPI_Alltoall", "interface": "c", "carried": 30, "native": 10, "errors": 0, "seconds": sum(carried) + sum(native), "bytes": 4096,
            "sent_bytes": 8192, "histogram": {"128": 40}, "algorithms": {"node_shared": 30, "native": 10}, "native_because": {"the first calls": 10}}
    line = {"part_seconds": 1.0, "carried": carried, "native": native}
    return {"rank": rank, "world_size": 2, "host": "h", "pid": 10 + rank, "mpi": "Open MPI v4.1.4", "wall_seconds": 4.0, "finished": True,
            "time_line": line, "calls": [call], **more}


def two_processes(**more):
    """The second one waits less."""
    return [process(0, [0, 1.0, 0.5, 0], [0, 0, 0, 0.5]), process(1, [0, 0.5, 0.25, 0], [0, 0, 0, 0.25], **more)]


def test_no_more_can_be_gained_than_what_the_busiest_process_spends_in_calls():
    time = run_time(add_up(two_processes()))
    assert (time.wall, time.inside, time.mean, time.most_to_gain) == (4.0, [2.0, 1.0], 1.5, 1.0)
    assert "at most 1.00 s (25.0 %) shorter" in " ".join(time.sentences())


def test_threads_that_are_inside_at_the_same_time_are_not_more_than_the_run():
    assert run_time(add_up([process(0, [4.0, 4.0, 0, 0], [0, 0, 0, 0])])).inside == [4.0]


def test_a_report_of_a_process_that_was_killed_is_said():
    assert "1 of 2 processes did not end by themselves" in " ".join(run_time(add_up(two_processes(finished=False))).sentences())
    assert "did not end" not in " ".join(run_time(add_up(two_processes())).sentences())


def test_reports_of_an_older_library_have_no_times():
    old = process(0, [0], [0])
    for name in ("wall_seconds", "time_line", "finished"):
        del old[name]
    assert run_time(add_up([old])) is None and shared_line(add_up([old])) is None


def test_a_row_has_least_mean_and_most():
    assert share_rows(add_up(two_processes())) == [["MPI_Alltoall", "c", "1.000", "1.500", "2.000", "1.33", "37.5 %", "16 KiB"]]


def test_reasons_are_added_up():
    assert reason_rows(add_up(two_processes())) == [["MPI_Alltoall", "20", "the first calls"]]


def test_time_lines_of_different_parts_become_one():
    fine = process(1, [0.5] * 8, [0] * 8)
    fine["time_line"]["part_seconds"] = 0.5
    line = shared_line(add_up([process(0, [1.0, 0, 0, 0], [0, 0, 0, 1.0]), fine]))
    assert (line.part_seconds, line.carried, line.native) == (1.0, [1.0, 0.5, 0.5, 0.5], [0, 0, 0, 0.5])


def test_the_page_has_the_time_line_and_the_sentences():
    page = render_calls(add_up(two_processes()))
    assert "at most 1.00 s (25.0 %) shorter" in page and 'class="native-call fill c1"' in page and "the first calls" in page
    assert "<figure>" not in render_calls(add_up([]))


@pytest.fixture
def folder(tmp_path):
    """Two reports."""
    place = tmp_path / "reports"
    place.mkdir()
    for one in two_processes():
        (place / f"h.{one['pid']}.json").write_text(json.dumps(one))
    return place


def test_the_command_writes_a_page_and_a_table(folder, tmp_path, capsys):
    page, table = tmp_path / "page.html", tmp_path / "calls.csv"
    assert main(["report", str(folder), "--html", str(page), "--csv", str(table)]) == 0
    assert "2 processes on 1 host" in capsys.readouterr().out and "<figure>" in page.read_text()
    rows = list(csv.DictReader(table.open()))
    assert [(row["rank"], row["name"], row["seconds"], row["sent_bytes"]) for row in rows] == [("0", "MPI_Alltoall", "2.0", "8192"), ("1", "MPI_Alltoall", "1.0", "8192")]


@pytest.mark.parametrize("words, said", [
    (["report", "nowhere"], "no folder nowhere"), (["report", "."], "holds no report"),
    (["report", "{folder}", "--html", "nowhere/page.html"], "no folder"), (["report", "{folder}", "--csv", "nowhere/calls.csv"], "no folder")])
def test_refusals(folder, tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    assert main([word.format(folder=folder) for word in words]) == 2
    assert said in capsys.readouterr().err
