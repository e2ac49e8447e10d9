"""Adding up what the processes counted, and showing it."""

import json
from pathlib import Path

import pytest
from rich.console import Console

from crossrail.errors import CliError
from crossrail.launchers import Job, Launcher
from crossrail.outputs import write_file
from crossrail.report import call_tables
from crossrail.report.calls_page import render_calls
from crossrail.report.call_reports import Overlap, add_up, read_folder
from crossrail.report.reported_run import ReportChoice, kept_folder, run_with_report


def process(rank, carried, native=0, **more):
    """A report of one process with one call."""
    call = {"name": "MPI_Alltoall", "interface": "fortran", "carried": carried, "native": native, "errors": 0, "seconds": 0.5 + rank,
            "bytes": 1024 * carried, "histogram": {"1024": carried}, "algorithms": {"node_shared": carried}, **more}
    return {"rank": rank, "world_size": 2, "host": "h", "pid": 10 + rank, "mpi": "Open MPI v4.1.4, package: x", "flavour": "openmpi", "calls": [call]}


def test_counts_stay_by_process_and_time_is_the_largest():
    report = add_up([process(0, 5), process(1, 7, native=2)])
    call = report.calls[0]
    assert (call.carried, call.native, call.seconds) == ([5, 7], [0, 2], 1.5)
    assert (call.histogram, call.algorithms) == ({1024: 12}, {"node_shared": 12})
    assert (report.total("MPI_Alltoall", "carried"), report.total("MPI_Alltoall", "native")) == (12, 2)
    assert (report.seconds("MPI_Alltoall"), report.expected) == (1.5, 2)


def test_interfaces_are_kept_apart_and_carried_calls_come_first():
    other = process(0, 0)
    other["calls"] = [{"name": "MPI_Allreduce", "interface": "c", "carried": 0, "native": 99}, {"name": "MPI_Bcast", "carried": 0, "native": 0}]
    report = add_up([other, process(1, 3), process(0, 3, interface="c")])
    assert [(call.name, call.interface) for call in report.calls] == [
        ("MPI_Alltoall", "fortran"), ("MPI_Alltoall", "c"), ("MPI_Allreduce", "c")]


def test_a_folder_with_a_broken_file(tmp_path):
    (tmp_path / "h.10.json").write_text(json.dumps(process(0, 5)))
    (tmp_path / "h.11.json").write_text('{"rank": 1, "calls"')
    report = read_folder(tmp_path)
    assert (len(report.processes), report.unreadable) == (1, ["h.11.json"])


def shown(report, monkeypatch):
    """What show_report prints."""
    console = Console(width=160, record=True, highlight=False)
    monkeypatch.setattr(call_tables, "out", console)
    call_tables.show_report(report)
    return console.export_text()


def test_the_table_and_the_bars(monkeypatch):
    text = shown(add_up([process(0, 5635), process(1, 5635)]), monkeypatch)
    assert "2 processes on 1 host, Open MPI v4.1.4" in text
    assert "5 635" in text and "node_shared 11 270" in text and "up to     1 KiB" in text


def plan(sends, queue_pairs, calls=10):
    """What one process says of one plan."""
    return {"collective": "alltoall", "algorithm": "leader_pipelined", "block_bytes": 64, "ranks": 4, "nodes": 2, "calls": calls,
            "sends": sends, "sent_bytes": 256 * sends, "local_sends": 0, "staged_bytes": 2560, "queue_pairs": queue_pairs,
            "node_bytes": 768, "scratch_bytes": 0}


def test_traffic_is_that_of_the_busiest_node(monkeypatch):
    processes = [{**process(rank, 10), "host": "ab"[rank // 2], "plans": [plan(10 if rank % 2 == 0 else 0, 1 if rank % 2 == 0 else 0)]}
                 for rank in range(4)]
    processes[3]["plans"].append({**plan(0, 0), "algorithm": "bruck"})
    first, second = add_up(processes).traffic
    assert (first.algorithm, first.calls, first.sends, first.sent_bytes, first.staged_bytes) == ("leader_pipelined", 10, 1, 256, 512)
    assert (first.queue_pairs, first.memory_bytes, second.algorithm) == (1, 768, "bruck")
    assert "alltoall leader_pipelined" in shown(add_up(processes), monkeypatch)


def test_sizes_are_said_to_be_those_of_what_the_call_moves(monkeypatch):
    reduced = add_up([process(0, 5, name="MPI_Iallreduce")])
    assert "sizes (the elements of one rank)" in shown(reduced, monkeypatch) and "The elements of one rank; calls" in render_calls(reduced)
    assert "From one rank to one other; calls" in render_calls(add_up([process(0, 5)]))


def test_nothing_and_missing_ranks_are_said(monkeypatch):
    assert "No collective call of MPI was seen" in shown(add_up([]), monkeypatch)
    assert "1 of 2 ranks left no report" in shown(add_up([process(0, 5)]), monkeypatch)


@pytest.mark.parametrize("family, code, sentence", [
    ("openmpi", 0, ""), ("openmpi", 139, "The program was ended by signal 11 (SIGSEGV)."), ("openmpi", 11, "The program ended with exit code 11."),
    ("hydra", 9, "The program ended with exit code 9, or by signal 9 (SIGKILL): this launcher tells either by that number."),
    ("hydra", 1, "The program ended with exit code 1."), ("srun", 143, "The program was ended by signal 15 (SIGTERM)."), ("srun", 255, "The program ended with exit code 255.")])
def test_how_the_program_ended_is_said(family, code, sentence, tmp_path, monkeypatch):
    console = Console(width=160, record=True, highlight=False)
    monkeypatch.setattr(call_tables, "out", console)

    def start(job):
        (Path(job.environment["CROSSRAIL_REPORT"]) / "0.json").write_text(json.dumps(process(0, 5)))
        return code

    page = tmp_path / "r.html"
    assert run_with_report(Job(Launcher("/bin/true", family), 1, ["./app"]), ReportChoice(str(tmp_path / "r"), page), start) == code
    text = console.export_text()
    assert ("The program" in text) == bool(sentence) and sentence in text and sentence in page.read_text()


def test_a_program_without_calls_of_mpi_is_told_together_with_its_end(monkeypatch):
    nothing = add_up([])
    nothing.ending = "The program was ended by signal 11 (SIGSEGV)."
    text = shown(nothing, monkeypatch)
    assert text.startswith(nothing.ending) and "No collective call of MPI was seen" in text


def test_a_range_where_processes_differ():
    assert call_tables.span([12, 40]) == "12–40"
    assert call_tables.span([5635, 5635]) == "5 635"


def overlap(starting, waiting, under_way, calls=10):
    """Nonblocking calls of one process."""
    return {"calls": calls, "starting": starting, "waiting": waiting, "under_way": under_way}


def test_what_is_hidden_is_neither_starting_nor_waiting():
    report = add_up([process(0, 5, overlap={"crossrail": overlap(0.5, 1.5, 8.0)})])
    assert report.calls[0].overlaps["crossrail"][0].hidden == 0.75
    assert Overlap(1, 0.5, 9.0, 8.0).hidden == 0.0  # It waited for others, too.
    assert Overlap(0, 0.0, 0.0, 0.0).hidden == 0.0


def test_overlap_is_shown_by_who_carried_the_calls(monkeypatch):
    first, second = overlap(0.1, 0.1, 1.0), overlap(0.25, 0.25, 1.0)
    report = add_up([process(0, 10, overlap={"crossrail": first, "native": overlap(1.0, 1.0, 2.0, calls=4)}), process(1, 10, overlap={"crossrail": second})])
    rows = call_tables.overlap_rows(report)
    assert rows == [["MPI_Alltoall", "fortran", "crossrail", "10", "0.250", "0.250", "1.000", "50–80 %"],
                    ["MPI_Alltoall", "fortran", "native", "4", "1.000", "1.000", "2.000", "0 %"]]
    text = shown(report, monkeypatch)
    assert "50–80 %" in text and "at least 0" in text
    assert "Nonblocking and persistent calls" not in shown(add_up([process(0, 5)]), monkeypatch)


def test_the_page_has_the_same_tables():
    report = add_up([process(0, 10, overlap={"crossrail": overlap(0.1, 0.1, 1.0)}, algorithms={"a<b": 10})])
    page = render_calls(report)
    assert "Nonblocking and persistent calls" in page and "80 %" in page and "a&lt;b 10" in page and "up to 1 KiB" in page
    assert "1 of 2 ranks left no report" in page and "Nonblocking" not in render_calls(add_up([process(0, 5)]))
    assert "No collective call of MPI was seen" in render_calls(add_up([]))
    assert "No collective call was made." in render_calls(add_up([{**process(0, 0), "calls": []}]))


def test_what_was_moved_is_on_the_page_too(monkeypatch):
    plans = [{**plan(1, 1), "block_bytes": 64 << step} for step in range(call_tables.MOST_PLANS + 1)]
    report = add_up([{**process(0, 10), "plans": plans}])
    text, page = shown(report, monkeypatch), render_calls(report)
    for part in ("What crossrail moved", "alltoall leader_pipelined", "queue pairs", "… and 1 more"):
        assert part in text and part in page
    assert "crossrail moved" not in render_calls(add_up([process(0, 5)]))


def test_a_page_that_cannot_be_written_is_one_sentence(tmp_path):
    with pytest.raises(CliError, match="cannot be written"):
        write_file(tmp_path, "a folder is no file")


@pytest.mark.parametrize("what", ["html", "record"])
@pytest.mark.parametrize("code, expected", [(0, 2), (7, 7)])
def test_a_result_that_cannot_be_kept_is_told_by_the_exit_code(what, code, expected, tmp_path, capsys):
    def start(job):
        (Path(job.environment["CROSSRAIL_REPORT"]) / "0.json").write_text(json.dumps(process(0, 5)))
        return code

    choice = ReportChoice(str(tmp_path), shown=False, **{what: Path("/dev/full")})
    assert run_with_report(Job(Launcher("/bin/true", "openmpi"), 1, ["./app"]), choice, start) == expected
    assert ("No space left" if what == "html" else "Nothing was recorded") in capsys.readouterr().err


def comparison(**more):
    """What a process compared."""
    return {"collective": "alltoall", "least_bytes": 4096, "most_bytes": 8191, "windows": 3, "given_back": 0, "taken_back": 0,
            "carried_seconds": 12.5e-6, "native_seconds": 31e-6, **more}


def test_what_was_compared_is_shown_and_what_was_given_back_comes_first(monkeypatch):
    given = comparison(collective="alltoallv", least_bytes=0, most_bytes=0, given_back=1)
    first, second = {**process(0, 5), "compared": [comparison(), given]}, {**process(1, 5), "compared": [comparison(windows=4)]}
    report = add_up([first, second])
    assert [(one.collective, one.windows, one.given_back) for one in report.comparisons] == [("alltoallv", 3, 1), ("alltoall", 4, 0)]
    text, page = shown(report, monkeypatch), render_calls(report)
    for part in ("Compared with the MPI library", "4 KiB to 8", "12.5", "31.0", "1×"):
        assert part in text and part in page
    assert "Compared" not in shown(add_up([process(0, 5)]), monkeypatch)


def test_two_jobs_do_not_share_a_folder(tmp_path):
    with kept_folder(str(tmp_path / "reports")):
        with pytest.raises(CliError, match="Another job is about to leave its reports in"), kept_folder(str(tmp_path / "reports")):
            pass
    with kept_folder(str(tmp_path / "reports")) as folder:
        assert folder == tmp_path / "reports"


def test_reports_of_several_jobs_are_said_to_be(monkeypatch):
    sentence = "4 processes of several jobs, of 2 ranks at most"
    report = add_up([process(rank % 2, 5) for rank in range(4)])
    assert sentence in " ".join(shown(report, monkeypatch).split()) and sentence in render_calls(report)
    assert "several jobs" not in shown(add_up([process(0, 5), process(1, 5)]), monkeypatch)
