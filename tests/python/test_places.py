"""Where files are looked for: in the source tree, and in an installation with its installed.py."""

import sys
from types import ModuleType

import pytest

from crossrail import places
from crossrail.errors import CliError


@pytest.fixture
def installation(tmp_path, monkeypatch):
    """A made-up installation of the package below tmp_path, with one library and one bench program."""
    package = tmp_path / "share/crossrail/python/crossrail"
    for folder in (package, tmp_path / "lib64", tmp_path / "libexec/crossrail"):
        folder.mkdir(parents=True)
    (tmp_path / "lib64/libcrossrail_mpi_mpich.so").touch()
    (tmp_path / "libexec/crossrail/alltoall_mpich").touch()
    written = ModuleType("crossrail.installed")
    written.__spec__ = places.find_spec("crossrail")
    written.LIBRARIES, written.BENCHES, written.DATA = "../../../../lib64", "../../../../libexec/crossrail", "../.."
    monkeypatch.setitem(sys.modules, "crossrail.installed", written)
    monkeypatch.setattr(places, "__file__", str(package / "places.py"))
    monkeypatch.delenv("CROSSRAIL_LIBRARY_DIR", raising=False)
    return tmp_path


def test_tree_is_found_from_the_package(monkeypatch):
    monkeypatch.delenv("CROSSRAIL_LIBRARY_DIR", raising=False)
    tree = places.source_tree()
    assert (tree / "examples/transpose.c").is_file() and places.data_folder() == tree
    assert places.library_folders() == [tree / "build"]
    assert tree / "build/bench" in places.bench_folders()


def test_installation_is_found_by_relative_paths(installation):
    assert places.source_tree() is None
    assert places.library_folders() == [installation / "lib64"]
    assert places.data_folder() == installation / "share/crossrail"
    assert places.built_flavours() == ["mpich"]
    assert places.preload_library("mpich") == installation / "lib64/libcrossrail_mpi_mpich.so"
    assert places.bench_program("alltoall", "mpich") == installation / "libexec/crossrail/alltoall_mpich"


def test_what_an_installation_lacks_is_not_to_be_made_with_make(installation):
    for missing in (places.core_library, lambda: places.preload_library("abi"), lambda: places.bench_program("alltoall", "abi")):
        with pytest.raises(CliError) as error:
            missing()
        assert "install crossrail again" in str(error.value) and "make" not in str(error.value)


def test_library_dir_is_the_only_place_when_set(installation, monkeypatch):
    monkeypatch.setenv("CROSSRAIL_LIBRARY_DIR", str(installation))
    assert places.library_folders() == [installation] and places.built_flavours() == []
