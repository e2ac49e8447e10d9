"""`crossrail tune --memory cuda` without a GPU: the library and the bench program are made up."""

import pytest

from crossrail import core
from crossrail.bench import contenders as bench_contenders
from crossrail.bench import run as bench_run
from crossrail.bench.contenders import NATIVE_LEFT_OUT, native_takes_part, resolve_contenders
from crossrail.bench.device import Peers
from crossrail.bench.request import BenchRequest, Effort, What, Where, bench_options
from crossrail.bench.run import Starter, run_bench
from crossrail.cli import tune
from crossrail.cli.app import main
from crossrail.cli.tune import TuneRequest, check, comments, identity
from crossrail.errors import CliError
from crossrail.supervise import Interruptions
from crossrail.tuning import launch as tuning_launch
from crossrail.tuning.campaign import Campaign, Context, Goal
from crossrail.tuning.candidates import Layout, candidates, chosen_now, effect, parse_algorithms
from crossrail.tuning.decision import Range, wins
from crossrail.tuning.launch import JobLaunch
from crossrail.tuning.record import Record
from crossrail.tuning.table import Tuned, all_rows, kept_rows, read_rows

PARTS = ["packet", "ipc_kernel_push", "ipc_kernel_pull", "ipc_copy_push", "ipc_copy_pull"]
THRESHOLDS = {"ipc_threshold": 4096, "memcpy_threshold": 512 << 10}
HYBRID = "hybrid memcpy_threshold=4M"  # ipc_threshold is as by default.
OPT_IN = "ipc_resident_push"  # Its plan fails unless a setting allows it.
SIZES = [1 << power for power in range(10, 25)]
LAYOUT = Layout(4, 1, 4, "device")


@pytest.fixture(autouse=True)
def engine(monkeypatch):
    """One host algorithm; the device's fit on one node, packet up to 32 KiB; the table says hybrid."""
    thresholds = [{"name": name, "default": default, "unit": "bytes", "values": [], "help": ""} for name, default in THRESHOLDS.items()]
    rows = [{"collective": "alltoall", "memory": "device", "name": name, "parameters": []} for name in [*PARTS, OPT_IN]]
    rows += [{"collective": "alltoall", "memory": "device", "name": "hybrid", "parameters": thresholds}]
    rows += [{"collective": name, "memory": "host", "name": "pairwise", "parameters": []} for name in ("alltoall", "alltoallv")]

    def explain(question):
        names = core.algorithm_names(question.collective, question.memory)
        fit = [name for name in names if question.memory == "host" or not any(question.node_of)]
        fit = [name for name in fit if name != "packet" or question.block_bytes <= 32 << 10]
        listed = [{"algorithm": "hybrid", "origin": "default.csv:25", "parameters": {"ipc_threshold": 4 << 10, "memcpy_threshold": 4 << 20}}]
        return {"candidates": [one for one in listed if "hybrid" in fit] + [{"algorithm": "native", "origin": "last row"}],
                "passed_over": [{"algorithm": name, "why": "does not fit this layout and size"} for name in names if name not in fit]}

    monkeypatch.setattr(core, "catalogue", lambda: rows)
    monkeypatch.setattr(core, "explain", explain)
    for name in ("CROSSRAIL", "CROSSRAIL_NODES", "CROSSRAIL_TUNING", *tune.DEVICE_PRESETS):
        monkeypatch.delenv(name, raising=False)


def truth(name, size):
    """Microseconds: a kernel that pulls is best from 16 KiB to 1 MiB, hybrid's parts elsewhere; native nowhere."""
    if name in ("auto", "hybrid"):
        name = "packet" if size < 4 << 10 else "ipc_kernel_push" if size < 4 << 20 else "ipc_copy_push"
    best = "packet" if size < 4 << 10 else "ipc_kernel_push" if size < 16 << 10 else "ipc_kernel_pull" if size <= 1 << 20 else "ipc_copy_push"
    return 10 if name == best else 14


class Machine:
    """Stands for the bench program on 4 GPUs; `ran`: what carries 'auto'."""

    def __init__(self, nodes=1, ran="hybrid"):
        self.nodes, self.ran, self.jobs = nodes, ran, []

    def __call__(self, contenders, sizes):
        self.jobs.append(contenders)
        results = [{"bytes": size, "contender": name, "algorithm": self.ran if name in ("auto", OPT_IN) else name.split()[0], "p50_us": truth(name, size), "wrong": 0}
                   for size in sizes for name in contenders]
        return {"nodes": self.nodes, "ranks_per_node": 4 // self.nodes, "mpi": "MPI", "memory": "cuda", "device": "H200", "driver": "580.1", "results": results}


def campaign(path, machine, native=False, wanted=None):
    """A campaign on a made-up machine."""
    return Campaign(Goal("alltoall", 4, SIZES, 3, wanted, "device", native), Context(machine, Record(path / "record.jsonl", {}, False)))


def test_every_memory_has_its_candidates():
    assert candidates("alltoall", Layout(4, 1, 4), 16) == ["pairwise"]
    assert candidates("alltoall", LAYOUT, 16 << 10) == [*PARTS, OPT_IN, HYBRID]
    assert candidates("alltoall", LAYOUT, 64 << 10) == [*PARTS[1:], OPT_IN, HYBRID]
    assert candidates("alltoall", Layout(4, 2, 2, "device"), 16) == []


def test_defaults_need_not_be_said():
    assert effect("alltoall", LAYOUT, "hybrid ipc_threshold=4K", 64) == effect("alltoall", LAYOUT, "hybrid", 64)
    assert effect("alltoall", LAYOUT, HYBRID, 64) != effect("alltoall", LAYOUT, "hybrid", 64)
    assert candidates("alltoall", LAYOUT, 1024, ["hybrid ipc_threshold=1K"]) == ["hybrid ipc_threshold=1K"]


def test_what_is_chosen_now():
    assert chosen_now("alltoall", LAYOUT, 16, "hybrid") == HYBRID and chosen_now("alltoall", LAYOUT, 16) == HYBRID
    assert chosen_now("alltoall", LAYOUT, 16, "pairwise") == "native"  # It goes through host memory.


def test_only_algorithms_for_the_memory_can_be_named():
    assert parse_algorithms("alltoall", "packet,hybrid ipc_threshold=8192", "device") == ["packet", "hybrid ipc_threshold=8K"]
    for text, memory in (("packet", "host"), ("pairwise", "device"), ("hybrid chunk=1", "device")):
        with pytest.raises(CliError, match="no algorithm|no parameter"):
            parse_algorithms("alltoall", text, memory)


def test_native_must_be_beaten_only_where_it_was_measured():
    times = {"auto": dict(enumerate([10, 10, 10])), "packet": dict(enumerate([8, 8, 8]))}
    assert wins(times, "packet") and wins({**times, "native": {}}, "packet") and not wins(times, "native")
    assert not wins({**times, "native": dict(enumerate([7, 7, 7]))}, "packet")


@pytest.mark.parametrize("native", [False, True])
def test_the_parts_are_measured_one_by_one(tmp_path, native):
    machine = Machine()
    one = campaign(tmp_path, machine, native)
    one.run()
    assert machine.jobs[0] == ["auto"] and all(("native" in names) == native for names in machine.jobs[1:])
    assert {name for names in machine.jobs for name in names} - {"native"} == {"auto", OPT_IN, *PARTS}
    assert not any(OPT_IN in times for times in one.times.values())
    found = one.ranges()
    assert [(each.high, each.winner) for each in found] == [(8 << 10, HYBRID), (1 << 20, "ipc_kernel_pull"), (2 << 20, "ipc_copy_push"), (16 << 20, HYBRID)]
    assert [",".join(row) for row in all_rows([Tuned("alltoall", one.layout, found)])] == [
        "alltoall,device,*,1,4,1,8K,hybrid,memcpy_threshold=4M", "alltoall,device,*,1,4,1,1M,ipc_kernel_pull,",
        "alltoall,device,*,1,4,1,2M,ipc_copy_push,", "alltoall,device,*,1,4,1,16M,hybrid,memcpy_threshold=4M"]
    assert one.device == "H200 (driver 580.1)"


def test_what_was_asked_for_and_never_ran_is_said(tmp_path):
    one = campaign(tmp_path, Machine(), wanted=[OPT_IN, "packet"])
    said = []
    one.context.warn = said.append
    one.run()
    assert said == ["ipc_resident_push, 4 ranks: never ran here; CROSSRAIL_LOG=1 says why."]


def test_rows_of_one_memory_leave_those_of_the_other():
    table = "collective,memory,nodes,ranks_per_node,ranks_per_device,up_to_bytes,algorithm\nalltoall,host,1,4,*,*,pairwise\nalltoall,device,1,4,1,*,packet\n"
    rows = all_rows([Tuned("alltoall", LAYOUT, [Range(1, 64, "ipc_copy_push", "packet", 2.0)])])
    assert kept_rows(read_rows(table), rows) == [["alltoall", "host", "*", "1", "4", "*", "*", "pairwise", ""]]


def test_nothing_can_be_tuned_where_data_go_through_host_memory(tmp_path):
    with pytest.raises(CliError, match="fits 4 ranks on 2 nodes"):
        campaign(tmp_path, Machine(nodes=2)).run()
    (tmp_path / "record.jsonl").unlink()
    with pytest.raises(CliError, match="through host memory .pairwise ran, not hybrid"):
        campaign(tmp_path, Machine(ran="pairwise")).run()


@pytest.fixture
def request_for(tmp_path):
    """A request for this memory and collective."""
    def make(memory="cuda", collective="alltoall", native=True):
        return TuneRequest(BenchRequest(What(collective, memory=memory), Where(0)), [4], [1, 2], 5, None, tmp_path / "mine.csv", "crossrail tune", native)

    return make


def test_what_cannot_be_tuned(request_for, monkeypatch):
    check(request_for())
    check(request_for("host", "alltoallv"))
    with pytest.raises(CliError, match="'alltoallv' is not carried in device memory; take one of alltoall"):
        check(request_for(collective="alltoallv"))
    monkeypatch.setenv("CROSSRAIL_RESIDENT", "100")
    monkeypatch.setenv("CROSSRAIL_DEVICES", "1")
    check(request_for("host"))
    with pytest.raises(CliError, match="unset CROSSRAIL_RESIDENT[.]"):
        check(request_for())


def test_a_run_on_devices_has_a_record_of_its_own(request_for):
    assert request_for().measurements.name == "mine.alltoall.cuda.measurements.jsonl"
    assert request_for("host").measurements.name == "mine.alltoall.measurements.jsonl"
    assert identity(request_for(), {}) != identity(request_for(native=False), {})
    assert "native" not in identity(request_for("host"), {})


def test_the_table_names_the_device(request_for, tmp_path):
    one = campaign(tmp_path, Machine())
    one.probe()
    assert "Device memory of H200 (driver 580.1)" in comments(request_for(), {}, [one])


def test_the_jobs_have_their_data_on_the_device(monkeypatch):
    seen = []
    monkeypatch.setattr(tuning_launch, "run_bench", lambda request, start: seen.append(request) or {})
    with Interruptions() as interruptions:
        JobLaunch(BenchRequest(What("alltoall", memory="cuda"), Where(4), Effort(seconds=0.5)), Starter(None, 4), interruptions)(["auto", "packet"], [8, 16])
    assert seen[0].what.contenders == ("auto", "packet") and bench_options(seen[0])[-2:] == ["--memory", "cuda"]


def test_native_takes_part_where_mpi_takes_device_memory(monkeypatch):
    monkeypatch.setattr(bench_contenders, "chosen_launcher", lambda collective, where: None)
    monkeypatch.setattr(bench_contenders, "device_peers", lambda collective, flavour: Peers())
    what, where = What("alltoall", memory="cuda"), Where(2)
    for aware in (False, True):
        monkeypatch.setattr(bench_contenders, "takes_device_memory", lambda launcher, aware=aware: aware)
        assert native_takes_part(what, where, None) is aware and native_takes_part(what, where, not aware) is not aware
        found = resolve_contenders(what, where, "native,auto", None)
        assert found.names == (("native", "auto") if aware else ("auto",)) and found.notes == (() if aware else (NATIVE_LEFT_OUT,))
    assert native_takes_part(What("alltoall"), where, None)


def test_the_command_asks_for_gpus(monkeypatch, capsys, tmp_path):
    seen = []
    monkeypatch.setattr(tune, "tune", lambda request, resume: seen.append(request) or True)
    monkeypatch.setattr(tune, "native_takes_part", lambda what, where, native_cuda: False)
    monkeypatch.setattr(bench_contenders, "gpu_count", lambda: 0)
    words = ["tune", "alltoall", "--memory", "cuda", "--output", str(tmp_path / "mine.csv")]
    assert main(words) == 2 and capsys.readouterr().err.startswith("crossrail: The CUDA driver sees no GPU here.")
    monkeypatch.setattr(bench_contenders, "gpu_count", lambda: 8)
    assert main(words) == 0
    assert (seen[0].ranks, seen[0].sizes[-1], seen[0].bench.what.memory, seen[0].native) == ([8], 16 << 20, "cuda", False)
    assert main([*words, "--memory", "tape"]) == 2 and "host or cuda" in capsys.readouterr().err


def test_a_bench_program_that_finds_no_gpu_is_heard(monkeypatch):
    monkeypatch.setattr(bench_run, "bench_job", lambda request, output: None)

    def refuse(_job, output):
        output.write("bench: there is no GPU to bench on: no driver\n---\nmpirun detected ...\n")
        return 2

    with pytest.raises(CliError) as heard:
        run_bench(BenchRequest(What("alltoall", memory="cuda"), Where(2)), refuse)
    assert str(heard.value) == "there is no GPU to bench on: no driver"
    with pytest.raises(CliError, match="exit code 139"):
        run_bench(BenchRequest(What("alltoall", memory="cuda"), Where(2)), lambda _job, output: refuse(_job, output) and 139)
