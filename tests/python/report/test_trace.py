"""Files of CROSSRAIL_TRACE, made up byte by byte, and the trace of them."""

import json

import pytest

from crossrail.cli.app import main
from crossrail.errors import CliError
from crossrail.launchers import Job, Launcher
from crossrail.report import traced_run
from crossrail.report.trace import (CALL, DEVICE, EVENT, EVENTS_AT, FORMAT, HEAD, MESSAGE, ON_DEVICE, PENDING, PHASE, TEXT_BYTES, TEXTS_AT, WAIT, read_parts, trace_sentence,
                                    write_trace)

TEXTS = ["MPI_Alltoall", "run", "native", "because of it", "send", "MPI_Ialltoall", "wait", "exchange"]
ALLTOALL, RUN, NATIVE, BECAUSE, SEND, IALLTOALL, WAITING, EXCHANGE = range(1, 9)


def event(number, kind, name, began, ended, **more):
    """One event's bytes."""
    fields = {"bytes": 0, "of": 0, "algorithm": 0, "because": 0, "peer": -1, "ranks": 0, "thread": 1, **more}
    return EVENT.pack(number, began, ended, fields["bytes"], fields["of"], name, fields["algorithm"], fields["because"], kind, fields["peer"], fields["ranks"],
                      fields["thread"], 0)


def write_part(folder, events, rank=0, host="one", monotonic=1000, realtime=1_000_000, capacity=8, begun=None):
    """A process's file."""
    begun = len(events) if begun is None else begun
    head = HEAD.pack(FORMAT, capacity, begun, monotonic, realtime, rank, 2, 77 + rank, 0, host.encode())
    texts = b"".join(one.encode().ljust(TEXT_BYTES, b"\0") for one in TEXTS)
    (folder / f"{host}.{77 + rank}.trace").write_bytes(head.ljust(TEXTS_AT, b"\0") + texts.ljust(EVENTS_AT - TEXTS_AT, b"\0") + b"".join(events))


def trace_of(folder, until=None):
    """What is written of a folder."""
    write_trace(folder / "trace.json", read_parts(folder), until)
    return json.loads((folder / "trace.json").read_text())


def entries(trace, phase, pid=0):
    """Those of one kind and rank."""
    return [one for one in trace["traceEvents"] if one["ph"] == phase and one["pid"] == pid]


def test_slices_with_what_is_known_of_them(tmp_path):
    write_part(tmp_path, [event(1, CALL, ALLTOALL, 5000, 9000, bytes=24, ranks=2, algorithm=NATIVE, because=BECAUSE), event(2, PHASE, RUN, 6000, 7500, bytes=12)])
    call, run = entries(trace_of(tmp_path), "X")
    assert (call["name"], call["cat"], call["ts"], call["dur"], call["tid"]) == ("MPI_Alltoall", "mpi", 0, 4, 1)
    assert call["args"] == {"bytes": 24, "communicator_size": 2, "algorithm": "native", "native_because": "because of it"}
    assert (run["name"], run["ts"], run["dur"], run["args"]) == ("run", 1, 1.5, {"block_bytes": 12})


def test_hosts_are_aligned_by_the_time_of_day(tmp_path):
    write_part(tmp_path, [event(1, CALL, ALLTOALL, 5000, 6000)], 0, "one", monotonic=1000, realtime=1_000_000)
    write_part(tmp_path, [event(1, CALL, ALLTOALL, 95_000, 96_000)], 1, "two", monotonic=90_000, realtime=1_000_500)
    # Its clocks have drifted, and the first one's hold.
    write_part(tmp_path, [event(1, CALL, ALLTOALL, 5200, 6000)], 2, "one", monotonic=2000, realtime=1_900_000)
    trace = trace_of(tmp_path)
    assert [entries(trace, "X", rank)[0]["ts"] for rank in range(3)] == [0, 1.5, 0.2]
    assert "CLOCK_MONOTONIC" in trace["otherData"]["clock"] and "CLOCK_REALTIME" in trace["otherData"]["clock"]


def test_what_has_not_ended_lasts_to_the_end_of_the_job(tmp_path):
    write_part(tmp_path, [event(1, CALL, ALLTOALL, 5000, 0), event(2, WAIT, WAITING, 6000, 0, peer=1), event(3, PENDING, IALLTOALL, 5500, 0)])
    trace = trace_of(tmp_path, until=1_000_000 + 19_000)
    call, wait = entries(trace, "X")
    assert (call["dur"], wait["ts"], wait["dur"]) == (15, 1, 14) and call["args"]["unfinished"] and wait["args"] == {"peer": 1, "unfinished": True}
    assert entries(trace, "e")[0]["ts"] == 15 and entries(trace, "b")[0]["args"]["unfinished"]


def test_pending_calls_have_their_parts_on_one_track(tmp_path):
    write_part(tmp_path, [event(1, PENDING, IALLTOALL, 5000, 9000, bytes=14, ranks=2), event(2, PHASE, RUN, 5000, 9000, of=1), event(3, MESSAGE, SEND, 6000, 7000, of=1, peer=1)])
    trace = trace_of(tmp_path)
    asynchronous = [(one["ph"], one["name"], one["id"]) for one in trace["traceEvents"] if one["ph"] in "be"]
    assert asynchronous == [("b", "MPI_Ialltoall", "0.1"), ("b", "run", "0.1"), ("b", "send", "0.3"), ("e", "send", "0.3"), ("e", "run", "0.1"), ("e", "MPI_Ialltoall", "0.1")]
    assert not entries(trace, "X") and entries(trace, "b")[2]["args"] == {"peer": 1, "call": "0.1"}


def test_what_a_device_did_has_tracks_of_its_own(tmp_path):
    """One queue's work in order, another one's meanwhile, work of which nothing is known, and a process that was killed."""
    asked = [event(number, DEVICE, EXCHANGE, 5000, 9900, bytes=32) for number in (1, 2, 3, 4)]
    write_part(tmp_path, [*asked, event(5, ON_DEVICE, EXCHANGE, 7000, 7500, bytes=32, of=2, thread=9), event(6, ON_DEVICE, EXCHANGE, 6000, 7000, bytes=32, of=1),
                          event(7, ON_DEVICE, EXCHANGE, 6500, 8000, bytes=32, of=3), event(8, ON_DEVICE, EXCHANGE, 9000, 0, of=4)])
    trace = trace_of(tmp_path)
    names = {one["tid"]: one["args"]["name"] for one in entries(trace, "M") if one["name"] == "thread_name"}
    slices = [(names[one["tid"]], one["name"], one["cat"], one["ts"], one["dur"], one["args"]) for one in entries(trace, "X")]
    assert slices == [("rank 0 GPU", "exchange", "on device", 1, 1, {"bytes": 32, "asked": "0.1"}), ("rank 0 GPU", "exchange", "on device", 2, 0.5, {"bytes": 32, "asked": "0.2"}),
                      ("rank 0 GPU (2)", "exchange", "on device", 1.5, 1.5, {"bytes": 32, "asked": "0.3"})]
    assert [(one["id"], one["args"].get("device_us")) for one in entries(trace, "b")] == [("0.1", 1), ("0.2", 0.5), ("0.3", 1.5), ("0.4", None)]
    assert sorted(names.values()) == ["rank 0 GPU", "rank 0 GPU (2)", "thread 1"]


def test_of_a_full_ring_the_latest_are_there_and_the_rest_is_counted(tmp_path):
    numbers = [9, 10, 3, 4, 5, 6, 0, 8]  # The 7th was being written when the process was killed.
    write_part(tmp_path, [event(number, CALL, ALLTOALL, 1000 * (number or 1), 1000 * (number or 1) + 500) for number in numbers], begun=10)
    parts = read_parts(tmp_path)
    assert (parts[0].dropped, len(parts[0].events)) == (2, 7)
    trace = trace_of(tmp_path)
    assert [one["ts"] for one in entries(trace, "X")] == [0, 1, 2, 3, 5, 6, 7] and trace["otherData"]["events_dropped"] == 2
    assert "2 earlier events" in trace_sentence(tmp_path, parts) and entries(trace, "M")[2]["args"]["labels"] == "2 earlier events dropped"


def test_two_processes_of_one_rank_have_tracks_of_their_own(tmp_path):
    for process, rank in ((1, 0), (2, 0), (3, -1)):
        write_part(tmp_path, [event(1, CALL, ALLTOALL, 5000, 6000)], rank, f"host{process}")
    trace = trace_of(tmp_path)
    names = {one["pid"]: one["args"]["name"] for one in trace["traceEvents"] if one["name"] == "process_name"}
    assert names == {0: "rank 0 (host1)", 1_000_001: "rank 0 (host2)", 1_000_002: "process 76 (host3)"}


def test_files_that_are_no_traces_are_left_out(tmp_path, capsys):
    (tmp_path / "half.trace").write_bytes(FORMAT)
    (tmp_path / "other.trace").write_bytes(b"x" * 100_000)
    assert read_parts(tmp_path) == []
    for words, sentence in ((["trace", str(tmp_path), str(tmp_path / "a.json")], "holds no trace"), (["trace", "/nosuch", "a.json"], "There is no folder")):
        assert main(words) == 2
        assert sentence in capsys.readouterr().err
    write_part(tmp_path, [event(1, CALL, ALLTOALL, 5000, 6000)])
    with pytest.raises(CliError, match="cannot be written"):
        write_trace(tmp_path, read_parts(tmp_path))


@pytest.mark.parametrize("file, leaves, code, expected", [("t.json", True, 0, 0), ("t.json", False, 0, 2), ("t.json", False, 7, 7), ("/dev/full", True, 0, 2),
                                                         ("/dev/full", True, 7, 7)])
def test_a_trace_that_is_lost_is_told_by_the_exit_code(file, leaves, code, expected, tmp_path, monkeypatch, capsys):
    """`leaves`: a process leaves something; the folder of what cannot be put together stays."""
    parts = tmp_path / "parts"
    monkeypatch.setattr(traced_run.tempfile, "mkdtemp", lambda prefix, dir: parts.mkdir() or str(parts))
    job = Job(Launcher("/bin/true", "openmpi"), 1, ["./app"])

    def run():
        if leaves:
            write_part(parts, [event(1, CALL, ALLTOALL, 5000, 6000)])
        return code

    assert traced_run.run_traced(job, tmp_path / file, run) == expected and job.environment["CROSSRAIL_TRACE"] == str(parts)
    assert parts.exists() == (leaves and file == "/dev/full") and ("nothing to trace" in capsys.readouterr().err) == (not leaves)
    assert traced_run.run_traced(job, None, lambda: 3) == 3


@pytest.mark.parametrize("file, sentence", [("/nosuch/trace.json", "There is no folder"), ("{folder}", "is a folder; name a file")])
def test_a_file_that_cannot_be_written_is_refused_before_the_job(file, sentence, tmp_path, capsys):
    launched = tmp_path / "launched"
    launcher = tmp_path / "mpirun"
    launcher.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "mpirun (Open MPI) 4.1.4" && exit\ntouch {launched}\n')
    launcher.chmod(0o755)
    words = ["run", "--trace", file.format(folder=tmp_path), "--mpi", "openmpi", "--launcher", str(launcher), "--", "/bin/true"]
    assert main(words) == 2
    assert sentence in capsys.readouterr().err and not launched.exists()
