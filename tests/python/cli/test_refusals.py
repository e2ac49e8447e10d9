"""What is refused before anything runs: one sentence, exit code 2."""

import pytest

from crossrail import core, jobs
from crossrail.algorithms import check_spec
from crossrail.bench import run as bench_run
from crossrail.bench.request import Where
from crossrail.cli.app import main
from crossrail.errors import CliError
from crossrail.flavours import Found
from crossrail.jobs import RunChoice, resolve_flavour
from crossrail.launchers import Launcher

PACKET = {"name": "packet", "default": 1024, "unit": "row_bytes", "values": [512, 1024], "help": "of data and flags"}
PROCESSES = {"name": "processes", "default": 1, "unit": "processes", "values": [1, 2], "help": "of a rank"}
CATALOGUE = [{"collective": "alltoall", "memory": "host", "name": "bruck", "summary": "", "parameters": []},
             {"collective": "alltoall", "memory": "host", "name": "node_shared", "summary": "", "parameters": [PACKET]},
             {"collective": "alltoall", "memory": "device", "name": "packet", "summary": "", "parameters": []},
             {"collective": "alltoallv", "memory": "host", "name": "pairwise", "summary": "", "parameters": [PROCESSES]}]


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    """A small catalogue; no bench may start."""
    monkeypatch.setattr(core, "catalogue", lambda: CATALOGUE)
    monkeypatch.setattr(bench_run, "run_bench", lambda request, start: pytest.fail("a bench was started"))


@pytest.mark.parametrize("words, sentence", [
    ("bench allgather", "There is no collective 'allgather' here; there are alltoall, "),
    ("bench alltoall --algorithms native,foo", "alltoall has no algorithm 'foo' for host memory; it has bruck, node_shared."),
    ("bench ialltoall --algorithms foo", "alltoall has no algorithm 'foo'"),
    ("bench alltoall --algorithms packet", "no algorithm 'packet' for host memory"),
    ("bench alltoall --algorithms node_shared_packet=abc", "'abc' is not a size"),
    ("bench alltoall --algorithms node_shared_packet", "parameters are written name=number"),
    ("bench alltoall --algorithms node_shared_colour=3", "node_shared has no parameter 'colour'; it has packet."),
    ("bench alltoall --algorithms bruck_packet=1K", "bruck has no parameter 'packet'; it has none."),
    ("bench alltoall --min 1K --max 8", "There is no size to measure: --min 1K is more than --max 8."),
    ("bench alltoall --max 0", "There is no size to measure"),
    ("bench alltoall --tests 4", "A blocking call has nothing to test: --tests is for ialltoall or alltoall_init."),
    ("bench ialltoall --peer a=/b:c", "--peer is measured with blocking calls only."),
    ("bench alltoall --datatype strided", "The datatype is contiguous, vector, indexed, resized or subarray, or two of them as SENDER:RECEIVER, not 'strided'."),
    ("bench alltoall --datatype vector:", "or two of them as SENDER:RECEIVER, not 'vector:'"),
    ("bench alltoallv --datatype vector:vector:vector", "or two of them as SENDER:RECEIVER"),
    ("bench alltoall --datatype vector --max 32", "Blocks of derived datatypes are multiples of 64 bytes: --max 32 leaves none."),
    ("bench alltoall --datatype vector --peer a=/b:c", "--peer is measured on contiguous data only."),
    ("bench iallreduce --datatype vector", "allreduce has elements of its own: --datatype is for alltoall or alltoallv."),
    ("bench alltoall --html /nosuch/x.html", "There is no folder /nosuch."),
    ("bench alltoall --output /dev/null/x", "Nothing can be written to /dev/null/x: /dev/null is no folder."),
    ("bench ialltoall --empty 50", "--empty is for alltoallv."),
    ("bench alltoallw --empty 50", "All blocks of alltoallw are equally long: --empty is for alltoallv."),
    ("bench alltoall --counts zipf", "All blocks of alltoall are equally long: --counts is for alltoallv."),
    ("bench alltoallv --counts zipfy", "The counts are equal or zipf, not 'zipfy'. Did you mean 'zipf'?"),
    ("bench alltoallw --datatype vector", "alltoallw has elements of its own: --datatype is for alltoall or alltoallv."),
    ("bench alltoallw --in-place", "--in-place is for contiguous data in host memory"),
    ("bench alltoallw --max 8", "Blocks of complex numbers are multiples of 16 bytes: --max 8 leaves none."),
    ("bench alltoall --fresh", "--fresh is for blocking calls in device memory, without --buffers: --memory cuda."),
    ("bench ialltoall --fresh --memory cuda", "--fresh is for blocking calls in device memory, without --buffers: --memory cuda."),
    ("bench alltoall --slices --buffers 2", "--slices is measured without --buffers and --fresh."),
    ("bench alltoall --slices --fresh --memory cuda", "--slices is measured without --buffers and --fresh."),
    ("bench alltoall --beside", "--beside is for device memory, without --fresh: --memory cuda."),
    ("bench alltoall --beside --fresh --memory cuda", "--beside is for device memory, without --fresh: --memory cuda."),
    ("bench alltoall --fresh --memory cuda --buffers 2", "--fresh is for blocking calls in device memory, without --buffers: --memory cuda."),
    ("tune alltoall --algorithms node_shared_colour=3", "node_shared has no parameter 'colour'"),
    ("bench alltoall --max 99999999999999999999", "'99999999999999999999' is more than 1024 TiB."),
    ("bench alltoall --algorithms ,", "No contender is named"),
    ("bench alltoall --repetitions 0", "--repetitions is at least 1"),
    ("bench alltoall --repetitions 99999999999999999999", "--repetitions is at least 1, and 1000000 at most."),
    ("bench alltoall --min 0", "A block has at least 1 byte: --min 1."),
    ("bench alltoall -H 0", "A cluster has 1 to 250 hosts, not 0."),
    ("bench alltoall -H 3", "2 ranks leave some of 3 hosts empty: every host needs one."),
    ("tune alltoall -H 0", "A cluster has 1 to 250 hosts, not 0."),
    ("bench alltoall --max-time nan", "--max-time takes seconds, more than 0."),
    ("bench alltoall --csv x --html x", "Two results would be written to x"),
    ("bench alltoall --helpers-per-gpu 0,1", "No algorithm of alltoall shares its messages with helper processes: --helpers-per-gpu is for alltoallv."),
    ("tune alltoall --helpers-per-gpu 0,1", "No algorithm of alltoall shares its messages with helper processes"),
    ("bench alltoallv --helpers-per-gpu 0,x", "'0,x' is not a list of numbers; write for example 0,1,3."),
    ("bench alltoallv --helpers-per-gpu 0,16", "--helpers-per-gpu takes numbers from 0 to 15, not '0,16'."),
    ("tune alltoallv --helpers-per-gpu=-1,0", "--helpers-per-gpu takes numbers from 0 to 15, not '-1,0'."),
    ("bench alltoallv --memory cuda --algorithms pairwise_processes=2,linear", "alltoallv has no algorithm 'linear' for device memory"),
    ("explain alltoall --bytes 999999999999999999999", "is more than 1024 TiB"),
])
def test_one_sentence_with_its_exit_code(words, sentence, capsys):
    assert main([*(word.replace("shared_", "shared ").replace("bruck_", "bruck ").replace("pairwise_", "pairwise ") for word in words.split()), "-n", "2"]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.startswith("crossrail: ") and said.count("\n") == 1


@pytest.mark.parametrize("words, sentence", [
    ("--processes 0,1", "--processes takes numbers from 1 to 256, not '0,1'."),
    ("--processes 1,many", "'1,many' is not a list of numbers; write for example 1,2,4,8."),
    ("-H 3", "The ping-pong is one between two nodes: -H 2, not 3."),
    ("--memory disk", "The memory is host or cuda, not 'disk'."),
    ("--min 2M --max 1M", "There is no size to measure: --min 2M is more than --max 1M."),
    ("--gpus 0", "Invalid value for '--gpus'"),
    ("--step 3", "The step is 2 or sqrt2, not '3'."),
    ("--html /nosuch/x.html", "There is no folder /nosuch."),
    ("--mpi none", "'none' is no flavour of MPI known here"),
    ("-n 2", "No such option: -n"),
])
def test_a_ping_pong_that_cannot_be(words, sentence, capsys):
    assert main(["bench", "pingpong", *words.split()]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.startswith("crossrail: ") and said.count("\n") == 1


@pytest.mark.parametrize("words", ["bench alltoall -n 2", "tune alltoall -n 2", "replay x.json"])
@pytest.mark.parametrize("value", ["0", "off", "no", "neither"])
def test_what_is_switched_off_is_not_measured(words, value, monkeypatch, capsys):
    monkeypatch.setattr(core, "settings", lambda: [{"variable": "CROSSRAIL", "value": "0"}])
    monkeypatch.setattr(core, "settings_given", lambda: {"files": [], "given": [
        {"variable": "CROSSRAIL", "value": value, "from": "environment", "used": value != "neither", "wrong": ""}]})
    assert main(words.split()) == 2
    assert f"crossrail is switched off (CROSSRAIL={value}, environment)" in capsys.readouterr().err


def test_ranks_have_an_end(capsys):
    assert main(["explain", "alltoall", "--bytes", "1K", "--ranks", "100000000"]) == 2
    assert "--ranks must be between 1 and 1000000" in capsys.readouterr().err


def test_parameters_are_those_of_the_row():
    check_spec("alltoall", "node_shared packet=2K")
    assert core.parameters("alltoall", "node_shared") == [PACKET] and core.parameters("alltoall", "packet", "device") == []
    for spec in ("pairwise colour=3", "pairwise packet=1K", ""):
        with pytest.raises(CliError):
            check_spec("alltoallv", spec)


def test_a_bench_with_the_launcher_of_another_mpi(monkeypatch):
    monkeypatch.setattr(bench_run, "named_launcher", lambda name: Launcher("/bin/mpiexec.hydra", "hydra"))
    with pytest.raises(CliError, match="'/bin/mpiexec.hydra' cannot start a program of the flavour openmpi"):
        bench_run.chosen_launcher("alltoall", Where(2, "openmpi", "mpiexec.hydra"))
    assert bench_run.chosen_launcher("alltoall", Where(2, "mpich", "mpiexec.hydra")).family == "hydra"


def test_a_program_of_another_flavour_than_mpi_says(monkeypatch):
    monkeypatch.setattr(jobs, "find_flavour", lambda program: Found("openmpi", "/l/libmpi.so.40", "it loads libmpi.so.40"))
    assert resolve_flavour("./app", RunChoice("openmpi")).flavour == "openmpi"
    with pytest.raises(CliError, match=r"'./app' is of the flavour openmpi \(it loads libmpi.so.40\), not mpich: leave out --mpi"):
        resolve_flavour("./app", RunChoice("mpich"))
    monkeypatch.setattr(jobs, "find_flavour", lambda program: None)
    assert resolve_flavour("./script", RunChoice("mpich")).flavour == "mpich"


def test_mpi_decides_where_a_program_loads_several_or_is_elsewhere(monkeypatch):
    def unclear(_program):
        raise CliError("two MPIs, or not found")

    monkeypatch.setattr(jobs, "find_flavour", unclear)
    assert resolve_flavour("./app", RunChoice("mpich")).flavour == "mpich"


def test_a_file_that_cannot_be_written_is_a_sentence(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(core, "machine", lambda: {"host": "h"})
    assert main(["info", "--picture", str(tmp_path / "nosuch/x.svg")]) == 2
    assert capsys.readouterr().err.strip().endswith("nosuch.")


def test_a_drawing_is_not_written_under_the_name_of_another_format(capsys, tmp_path):
    assert main(["info", "--picture", str(tmp_path / "machine.png")]) == 2
    assert "ends in .svg" in capsys.readouterr().err and not list(tmp_path.iterdir())
