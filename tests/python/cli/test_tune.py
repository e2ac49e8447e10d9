"""`crossrail tune` and the jobs of `crossrail bench`: options, refusals, signals."""

import os
import signal

import pytest

from crossrail.bench import run as bench_run
from crossrail.bench.measurements import caveats, title
from crossrail.bench.request import BenchRequest, Effort, What, Where, bench_options
from crossrail.bench.run import Starter
from crossrail.cli import tune
from crossrail.cli.app import main
from crossrail.cli.tune import TuneRequest, changes_table, check, identity, powers
from crossrail.errors import CliError, Stopped
from crossrail.supervise import Interruptions, supervise
from crossrail.tuning import launch as tuning_launch
from crossrail.tuning.candidates import Layout
from crossrail.tuning.decision import Range
from crossrail.tuning.launch import JobLaunch



@pytest.fixture
def request_for(tmp_path, monkeypatch):
    """A request that is all right, but for what the test changes."""
    monkeypatch.setattr(tune.core, "catalogue", lambda: [{"collective": "alltoall", "memory": "host", "name": "linear", "summary": ""}])
    for name in ("CROSSRAIL", "CROSSRAIL_NODES", "CROSSRAIL_TUNING"):
        monkeypatch.delenv(name, raising=False)

    def make(collective="alltoall", ranks=(4,), rounds=5):
        return TuneRequest(BenchRequest(What(collective), Where(0)), list(ranks), [1, 2], rounds, None, tmp_path / "mine.csv", "crossrail tune")

    return make


def test_sizes_double():
    assert powers(1, 8) == [1, 2, 4, 8] and powers(3, 13) == [3, 6, 12]
    for smallest, largest in ((0, 8), (8, 4)):
        with pytest.raises(CliError):
            powers(smallest, largest)


def test_what_cannot_be_tuned(request_for, monkeypatch):
    check(request_for())
    for wrong in (request_for("allgather"), request_for(ranks=(4, 1)), request_for(rounds=2)):
        with pytest.raises(CliError):
            check(wrong)
    monkeypatch.setenv("CROSSRAIL_NODES", "0,1")
    with pytest.raises(CliError, match="CROSSRAIL_NODES"):
        check(request_for())


def test_another_table_in_force_is_another_run(request_for, monkeypatch):
    before = identity(request_for(), {"host": "h"})
    monkeypatch.setenv("CROSSRAIL_TUNING", "mine.csv")
    assert identity(request_for(), {"host": "h"}) != before
    assert request_for().measurements.name == "mine.alltoall.measurements.jsonl"


def test_the_changes_are_shown():
    class Measured:
        """Stands for a campaign."""

        layout = Layout(8, 2, 4)

    table = changes_table([(Measured(), [Range(1, 64, "bruck", "native", 1.5), Range(128, 128, "native", "native", 1.0)])])
    columns = [list(column.cells) for column in table.columns]
    assert columns[0] == ["8 on 2 nodes", ""] and columns[1] == ["1 B to 64 B", "128 B"]
    assert [str(cell) for cell in columns[4]] == ["1.50 times faster", "unchanged"]


def test_the_options_of_a_job():
    assert bench_options(BenchRequest(What("alltoall"), Where(4))) == []
    assert bench_options(BenchRequest(What("alltoallv", empty=90), Where(4), Effort(7, 0.1, 60.0))) == [
        "--repetitions", "7", "--seconds", "0.1", "--max-time", "60.0", "--empty-percent", "90"]


def test_a_job_has_its_sizes_and_contenders(monkeypatch):
    seen = []
    monkeypatch.setattr(tuning_launch, "run_bench", lambda request, start: seen.append(request) or {})
    with Interruptions() as interruptions:
        JobLaunch(BenchRequest(What("alltoall"), Where(4), Effort(seconds=0.5)), Starter(None, 4), interruptions)(["native", "bruck"], [8, 16])
    what = seen[0].what
    assert (what.min_bytes, what.max_bytes, what.contenders, seen[0].effort.most_seconds) == (8, 16, ("native", "bruck"), 28.0)


def test_a_signal_that_a_job_takes_is_noticed():
    with Interruptions() as interruptions:
        interruptions.stop_if_any()
        assert supervise(["sh", "-c", f"kill -INT {os.getpid()}; exit 3"]) == 3
        with pytest.raises(KeyboardInterrupt):
            interruptions.stop_if_any()
    assert signal.set_wakeup_fd(-1) == -1


def test_a_bench_that_is_stopped_has_not_failed(monkeypatch):
    def killed(_request, _start):
        os.kill(os.getpid(), signal.SIGTERM)
        raise CliError("The bench program failed (exit code 143).")

    monkeypatch.setattr(bench_run, "run_bench", killed)
    before = signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        with pytest.raises(Stopped, match="Stopped: nothing is kept"):
            bench_run.measure(BenchRequest(What("alltoall"), Where(2)))
    finally:
        signal.signal(signal.SIGTERM, before)


def test_empty_blocks_are_for_alltoallv(capsys):
    for command in ("bench", "tune"):
        assert main([command, "alltoall", "-n", "4", "--empty", "50"]) == 2
        assert "--empty is for alltoallv" in capsys.readouterr().err


def test_what_a_reader_is_told():
    measurement = {"collective": "alltoallv", "ranks": 8, "nodes": 2, "mpi": "MPI", "empty_percent": 90, "rotating_buffers": 2,
                   "hosts_of_one_machine": True, "cut_short_at_bytes": 2048, "results": []}
    assert title(measurement) == "MPI_Alltoallv, 8 ranks on 2 nodes, MPI, 90 % of the blocks empty"
    notes = " ".join(caveats(measurement))
    assert "namespaces of one machine" in notes and "2 KiB" in notes
