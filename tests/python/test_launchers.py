"""The command lines that start the ranks."""

from pathlib import Path

import pytest

from crossrail import launchers
from crossrail.cli.words import split_marked, split_run
from crossrail.errors import CliError
from crossrail.launchers import Job, Launcher, command_line, family_from_version, folders_beside, preload_value


@pytest.fixture(autouse=True)
def plain_user_on_four_cores(monkeypatch):
    monkeypatch.setattr(launchers.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(launchers, "core_count", lambda: 4)
    monkeypatch.delenv("LD_PRELOAD", raising=False)


def words(family, ranks=2, launcher_words=(), environment=None):
    """The command line without the launcher's path."""
    job = Job(Launcher("/bin/launcher", family), ranks, ["./app", "-n", "9"], list(launcher_words), environment or {"LD_PRELOAD": "/l.so"})
    return command_line(job)[1:]


def test_open_mpi():
    assert words("openmpi") == ["-n", "2", "-x", "LD_PRELOAD=/l.so", "./app", "-n", "9"]


def test_open_mpi_as_root_and_with_more_ranks_than_cores(monkeypatch):
    monkeypatch.setattr(launchers.os, "geteuid", lambda: 0)
    assert words("openmpi", 5)[:4] == ["-n", "5", "--allow-run-as-root", "--oversubscribe"]


def test_placement_is_left_to_a_user_who_places():
    assert "--oversubscribe" not in words("openmpi", 5, ["--map-by", "node"])


def test_hydra_and_srun():
    assert words("hydra") == ["-n", "2", "-genv", "LD_PRELOAD", "/l.so", "./app", "-n", "9"]
    assert words("srun") == ["-n", "2", "--export=ALL,LD_PRELOAD=/l.so", "./app", "-n", "9"]


def test_srun_cannot_pass_commas():
    with pytest.raises(CliError, match="comma"):
        words("srun", 2, (), {"CROSSRAIL_NODES": "0,1"})


def test_without_a_number_of_ranks():
    assert words("hydra", None)[:1] == ["-genv"]


@pytest.mark.parametrize("text, family", [
    ("mpirun (Open MPI) 4.1.4\n", "openmpi"), ("mpirun (Open MPI) 5.0.11\n", "openmpi"),
    ("HYDRA build details:\n    Version: 4.0.2", "hydra"), ("Intel(R) MPI Library for Linux* OS, Version 2021.17", "hydra"),
    ("slurm 23.02.1\n", "srun"), ("something else", None),
])
def test_who_a_launcher_says_it_is(text, family):
    assert family_from_version(text) == family


def test_the_launcher_beside_the_library(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib/release").mkdir(parents=True)
    library = tmp_path / "lib/release/libmpi.so.12"
    library.touch()
    assert folders_beside(str(library)) == [str(tmp_path / "bin")]
    assert folders_beside(None) == []


def test_what_the_user_preloads_comes_first(monkeypatch):
    assert preload_value(Path("/l.so")) == "/l.so"
    monkeypatch.setenv("LD_PRELOAD", "/asan.so")
    assert preload_value(Path("/l.so")) == "/asan.so:/l.so"


def test_three_parts_of_a_run():
    parts = split_run("-np 4 --bind-to core --report -genv A B -- ./app -n 3 -- x".split())
    assert parts.own == ["-n", "4", "--report"]
    assert parts.launcher == ["--bind-to", "core", "-genv", "A", "B"]
    assert parts.program == ["./app", "-n", "3", "--", "x"]


def test_without_the_mark_the_first_plain_word_is_the_program():
    parts = split_run("-n 4 --mpi=mpich --verbose ./app --report".split())
    assert (parts.own, parts.launcher, parts.program) == (["-n", "4", "--mpi=mpich"], ["--verbose"], ["./app", "--report"])


def test_an_option_without_its_value():
    assert split_run(["-n"]).own == ["-n"]
    assert split_run([]).program == []


def test_the_launcher_words_of_bench():
    parts = split_marked("alltoall -n 4 -- --bind-to core".split())
    assert (parts.own, parts.launcher) == (["alltoall", "-n", "4"], ["--bind-to", "core"])
