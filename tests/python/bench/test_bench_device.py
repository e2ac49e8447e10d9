"""Benches on device memory: contenders, what is missing, tables against NCCL, the picture of the designs."""

import xml.etree.ElementTree as xml

import pytest

from crossrail import core
from crossrail.bench import contenders as bench_contenders
from crossrail.bench import device as bench_device
from crossrail.bench.contenders import PEERS_LEFT_OUT, contender_names, resolve_contenders, where_it_lies
from crossrail.bench.device import Peers, device_peers, takes_device_memory
from crossrail.bench.measurements import BEST_NCCL, best_of, caveats, compare, on_device, reference, rivals, title
from crossrail.bench.request import BenchRequest, What, Where, bench_options
from crossrail.bench.run import words_of_peers
from crossrail.cli.app import main
from crossrail.cli.performance import draw_images, markdown_section
from crossrail.launchers import Launcher
from crossrail.report.chart_drawing import draw_file
from crossrail.report.design_chart import design_chart, designs
from crossrail.report.device_tables import HEADINGS, device_rows, own_contender
from crossrail.report.measurement_tables import show_measurement
from crossrail.report.page import render_page

CATALOGUE = [{"collective": collective, "memory": memory, "name": name, "parameters": []} for collective, memory, name in (
    ("alltoall", "host", "bruck"), ("alltoall", "host", "pairwise"), ("alltoall", "device", "ipc_copy_push"), ("alltoallv", "device", "other"))]


def result(size, contender, p50, **more):
    """One result of a bench program."""
    return {"bytes": size, "contender": contender, "algorithm": contender, "repetitions": 9, "min_us": p50, "p50_us": p50, "p99_us": 2 * p50,
            "max_us": 3 * p50, "gb_s": 1.0, "wrong": 0, **more}


@pytest.fixture
def measurement():
    """Twice as fast as NCCL at 16 B, even with it at 1 KiB; NCCL's best is another one at each size."""
    times = {"auto": (5, 10), "ipc_kernel_push": (6, 10), "ipc_kernel_pull": (7, 9), "ipc_copy_push": (15, 12),
             "nccl_send_recv": (10, 20), "nccl_alltoall": (12, 10)}
    rows = [result(size, name, pair[at]) for name, pair in times.items() for at, size in enumerate((16, 1024))]
    rows += [result(1024, "copy_engine_limit", 4, checked=False)]
    return {"collective": "alltoall", "mpi": "Open MPI v4.1.4", "flavour": "openmpi", "ranks": 4, "nodes": 1, "ranks_per_node": 4, "cores": 64,
            "memory": "cuda", "device": "NVIDIA H200", "driver": "580.1", "cuda": "13.0", "oversubscribed": False, "checked": True,
            "rotating_buffers": 2, "results": rows, "machine": {"host": "g"}, "notes": ["bench: 'nccl_symmetric' does not work here and is left out"]}


def test_the_options_of_the_program():
    assert bench_options(BenchRequest(What("alltoall", memory="cuda", step="sqrt2"), Where(2))) == ["--step", "sqrt2", "--memory", "cuda"]


def test_contenders_are_those_of_the_memory(monkeypatch):
    monkeypatch.setattr(core, "catalogue", lambda: CATALOGUE)
    assert contender_names("native,auto", "alltoall", "host", True) == ["native", "auto"]
    assert contender_names("auto,bruck", "alltoall", "host", True) == ["native", "auto", "bruck"]
    assert contender_names("all", "alltoall", "host", True) == ["native", "auto", "bruck", "pairwise"]
    assert contender_names("all", "alltoall", "cuda", False) == ["auto", "ipc_copy_push"]
    assert contender_names("native,all,auto", "alltoall", "cuda", True) == ["native", "auto", "ipc_copy_push"]


def test_nccl_is_a_contender_where_it_is_found(monkeypatch, tmp_path):
    monkeypatch.setenv("CROSSRAIL_LIBRARY_DIR", str(tmp_path))
    (tmp_path / "bench").mkdir()
    assert "is not built" in device_peers("alltoall", "openmpi").missing[0]
    library = tmp_path / "bench/libnccl_peers_openmpi.so"
    library.touch()
    monkeypatch.setattr(bench_device, "find_nccl", lambda: None)
    assert "CROSSRAIL_NCCL can name it" in device_peers("alltoall", "openmpi").missing[0]
    monkeypatch.setattr(bench_device, "find_nccl", lambda: "/p/libnccl.so.2")
    peers = device_peers("alltoall", "openmpi")
    assert peers.options[0] == f"nccl_send_recv={library}:nccl_send_recv" and len(peers.options) == 3 and not peers.missing
    assert peers.environment == {"CROSSRAIL_NCCL": "/p/libnccl.so.2"}
    (tmp_path / "bench/libcopy_engine_limit_openmpi.so").touch()
    assert device_peers("alltoall", "openmpi").options[-1].endswith(":copy_engine_limit")
    assert [option.split("=")[0] for option in device_peers("alltoallv", "openmpi").options] == ["nccl_send_recv_vector"]
    assert device_peers("alltoallw", "openmpi").options == []
    assert device_peers("allreduce", "openmpi").options == [f"{name}={library}:{name}" for name in ("nccl_allreduce", "nccl_symmetric_allreduce")]


def test_what_takes_bytes_in_a_row_only_is_no_contender_with_datatypes(monkeypatch):
    monkeypatch.setattr(bench_contenders, "chosen_launcher", lambda collective, where: None)
    monkeypatch.setattr(bench_contenders, "chosen_flavour", lambda flavour: "openmpi")
    monkeypatch.setattr(bench_contenders, "device_peers", lambda collective, flavour: Peers(["nccl_alltoall=/p.so:nccl_alltoall"]))
    found = {datatype: resolve_contenders(What("alltoall", memory="cuda", datatype=datatype), Where(2), "auto", True)
             for datatype in ("contiguous", "vector")}
    assert found["contiguous"].peers == ("nccl_alltoall=/p.so:nccl_alltoall",) and not found["contiguous"].notes
    assert found["vector"].names == ("native", "auto") and found["vector"].peers == () and found["vector"].notes == (PEERS_LEFT_OUT,)


def test_only_a_cuda_aware_mpi_takes_device_memory(tmp_path):
    launcher, info = tmp_path / "mpirun", tmp_path / "ompi_info"
    for said, aware in (("true", True), ("false", False)):
        info.write_text(f"#!/bin/sh\necho mca:mpi:base:param:mpi_built_with_cuda_support:value:{said}\n")
        info.chmod(0o755)
        assert takes_device_memory(Launcher(str(launcher), "openmpi")) is aware
    version = tmp_path / "mpichversion"
    for words, aware in (("--with-cuda=/usr/local/cuda", True), ("--with-cuda=no", False), ("--with-hwloc", False)):
        version.write_text(f"#!/bin/sh\necho 'MPICH configure: {words}'\n")
        version.chmod(0o755)
        assert takes_device_memory(Launcher(str(launcher), "hydra")) is aware
    assert not takes_device_memory(Launcher(str(tmp_path / "nowhere/mpirun"), "openmpi"))


def test_the_best_of_nccl_is_the_reference(measurement):
    assert on_device(measurement) and reference(measurement) == BEST_NCCL
    assert [one["contender"] for one in best_of(measurement, "nccl")] == ["nccl_send_recv", "nccl_alltoall"]
    assert [(one.bytes, one.speedup) for one in compare(measurement)] == [(16, 2.0), (1024, 1.0)]
    assert rivals(measurement) == ["auto", "ipc_kernel_push", "ipc_kernel_pull", "ipc_copy_push"]
    measurement["memory"] = "host"
    assert reference(measurement) == "native" and compare(measurement) == []


def test_the_table_has_the_ratio_and_the_limit(measurement):
    rows = device_rows(measurement, own_contender(measurement))
    assert rows[0] == ["16 B", "5.00", "10.0", "1.00", "auto", "10.0", "send_recv", "2.00", "-", "right"]
    assert rows[1][5:] == ["10.0", "alltoall", "1.00", "4.00", "right"] and len(rows[0]) == len(HEADINGS)
    measurement["results"] = [one for one in measurement["results"] if not one["contender"].startswith("nccl")]
    assert device_rows(measurement, "auto")[0][5:8] == ["-", "-", "-"]


def test_what_a_reader_is_told(measurement):
    assert title(measurement).endswith("Open MPI v4.1.4, memory of NVIDIA H200 (driver 580.1)")
    notes = " ".join(caveats(measurement))
    assert "copy_engine_limit does not make the whole exchange" in notes and "'nccl_symmetric' does not work here" in notes
    assert words_of_peers("x\nbench: a\nbench: a\nnccl_peers: b\n") == ["bench: a", "nccl_peers: b"]


def test_measurements_are_shown_and_drawn(measurement, capsys, tmp_path):
    show_measurement(measurement)
    assert "best NCCL" in capsys.readouterr().out
    page = render_page("Title", "", [measurement])
    assert page.count('<svg class="wide"') == 2 and "faster than best NCCL" in page
    assert draw_images(measurement, "figure", tmp_path) == ["images/figure.svg"]
    assert "![Time of a call against block size](images/figure.svg)" in markdown_section(measurement, ["images/figure.svg"])
    assert "| 16 B | 5.00 | 10.0 | 1.00 | auto | 10.0 | send_recv | 2.00 | - | right |" in markdown_section(measurement)


def test_the_designs_have_a_line_each(measurement):
    lines = {name: [one["p50_us"] for one in results] for name, results in designs(measurement)}
    assert lines == {"hybrid": [5, 10], "kernels": [6, 9], "memcpy": [15, 12], "best of NCCL": [10, 10], "copies alone": [4]}
    drawn = xml.fromstring(draw_file(design_chart(measurement)))
    assert len(drawn.findall(".//{http://www.w3.org/2000/svg}polyline")) == 5


def test_a_machine_without_a_gpu_is_told_so(monkeypatch, capsys):
    monkeypatch.setattr(bench_contenders, "gpu_count", lambda: 0)
    assert main(["bench", "alltoall", "--memory", "cuda"]) == 2
    assert "sees no GPU here" in capsys.readouterr().err
    assert main(["bench", "alltoall", "-n", "2", "--memory", "tape"]) == 2
    assert "host or cuda" in capsys.readouterr().err


def test_a_peer_beside_the_benches_needs_no_path(tmp_path, monkeypatch):
    (tmp_path / "bench").mkdir()
    library = tmp_path / "bench" / "libmine.so"
    library.touch()
    monkeypatch.setenv("CROSSRAIL_LIBRARY_DIR", str(tmp_path))
    assert where_it_lies("row=libmine.so:calls") == f"row={library}:calls"
    assert where_it_lies("row=libother.so:calls") == "row=libother.so:calls"
    assert where_it_lies("row=/far/libmine.so:calls") == "row=/far/libmine.so:calls"
    assert where_it_lies("nonsense") == "nonsense"


def test_calls_in_a_row_are_no_reference():
    results = [{"bytes": 8, "contender": "auto", "p50_us": 9.0}, {"bytes": 8, "contender": "nccl_alltoall", "p50_us": 18.0},
               {"bytes": 8, "contender": "nccl_alltoall_in_a_row", "p50_us": 6.0}]
    assert [one.speedup for one in compare({"memory": "cuda", "results": results})] == [2.0]
