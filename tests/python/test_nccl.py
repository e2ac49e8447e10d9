"""'crossrail run --nccl' and 'crossrail lib --nccl': which NCCL a program loads, and the shim that is written for it."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from crossrail import nccl
from crossrail.cli.app import main
from crossrail.errors import CliError, NoProgram, NotExecutable
from crossrail.machine import nccl_health

BUILD = Path(os.environ.get("CROSSRAIL_BUILD", "build")).resolve()
LIBRARY = BUILD / nccl.LIBRARY
needs_library = pytest.mark.skipif(not LIBRARY.is_file() or platform.machine() != "x86_64", reason="the library is not built here")


@pytest.fixture
def pretended(tmp_path, monkeypatch):
    """A library of three functions, which CROSSRAIL_NCCL names."""
    source = tmp_path / "nccl.c"
    source.write_text("int ncclOne(void) { return 1; }\nint ncclTwo(void) { return 2; }\nint pncclTwo(void) { return 2; }\n"
                      "__attribute__((visibility(\"hidden\"))) int ncclHidden(void) { return 3; }\nint data = 4;\n")
    library = tmp_path / nccl.FILE
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    monkeypatch.setenv("CROSSRAIL_NCCL", str(library))
    monkeypatch.setenv("CROSSRAIL_LIBRARY_DIR", str(BUILD))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return library


@needs_library
def test_a_front_has_the_names_of_the_library_and_its_functions(pretended, tmp_path):
    shim = nccl.shim_of(nccl.find_nccl("python3"))
    assert shim.name == nccl.FILE and str(shim).startswith(str(tmp_path / "cache"))
    words = f"import ctypes; h = ctypes.CDLL('{nccl.FILE}'); print(h.ncclOne(), h.pncclTwo(), hasattr(h, 'ncclHidden'), hasattr(h, 'data'), hasattr(h, 'ncclThree'))"
    done = subprocess.run([sys.executable, "-c", words], env={**os.environ, "LD_PRELOAD": str(shim), "CROSSRAIL_NCCL": ""}, stdout=subprocess.PIPE, check=True)
    assert done.stdout.decode().split() == ["1", "2", "False", "False", "False"]


@needs_library
def test_a_front_is_kept_until_its_library_changes(pretended):
    first = nccl.shim_of(pretended)
    made = first.stat().st_mtime_ns
    assert nccl.shim_of(pretended) == first and first.stat().st_mtime_ns == made
    os.utime(pretended, ns=(1, 1))
    assert nccl.shim_of(pretended) != first


@needs_library
def test_what_is_no_library_is_refused(pretended):
    pretended.write_text("no library")
    with pytest.raises(CliError, match="is no shared library of 64 bits"):
        nccl.shim_of(pretended)


@needs_library
def test_run_shows_and_starts_the_program_without_mpi(pretended, capfd):
    assert main(["run", "--nccl", "--show", "--", "python3", "train.py"]) == 0
    shown = capfd.readouterr().out
    assert shown.startswith("LD_PRELOAD=") and str(nccl.shim_of(pretended)) in shown and shown.rstrip().endswith("python3 train.py") and "mpirun" not in shown
    words = [sys.executable, "-m", "crossrail", "run", "--nccl", "--", sys.executable, "-c", "import ctypes; print(ctypes.CDLL('libnccl.so.2').ncclTwo())"]
    assert subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout.decode() == "2\n"


def test_wrong_words(monkeypatch, tmp_path, capfd):
    monkeypatch.setenv("CROSSRAIL_NCCL", str(tmp_path / "nothing.so"))
    with pytest.raises(CliError, match="which is no file"):
        nccl.find_nccl("python3")
    monkeypatch.delenv("CROSSRAIL_NCCL")
    monkeypatch.setenv("CROSSRAIL_LIBRARY_DIR", str(tmp_path))
    for find in ("loaded_nccl", "wheel_nccl", "system_nccl"):
        monkeypatch.setattr(nccl, find, lambda *_: None)
    with pytest.raises(CliError, match="set CROSSRAIL_NCCL to its path"):
        nccl.find_nccl("python3")
    with pytest.raises(NoProgram):
        nccl.find_nccl("no-such-program")
    with pytest.raises(NotExecutable):
        nccl.find_nccl(str(tmp_path))
    with pytest.raises(CliError, match="libcrossrail_nccl.so is not in"):
        nccl.own_library()
    assert main(["run", "--nccl", "--report", "--", "python3"]) == 2 and "--nccl takes no --report" in capfd.readouterr().err
    assert main(["lib", "--nccl"]) == 2 and "Which NCCL?" in capfd.readouterr().err


def test_a_wheel_and_the_loader_s_cache_are_looked_at(monkeypatch, tmp_path):
    wheel = tmp_path / nccl.FILE
    wheel.touch()
    monkeypatch.setattr(nccl, "output_of", lambda words: f"{wheel}\n" if "-c" in words else f"\t{nccl.FILE} (libc6,x86-64) => /opt/{nccl.FILE}\n")
    assert nccl.wheel_nccl("/usr/bin/python3") == str(wheel)
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    assert nccl.system_nccl() == f"/opt/{nccl.FILE}"
    monkeypatch.setenv("LD_LIBRARY_PATH", f":{tmp_path}")
    assert nccl.system_nccl() == str(wheel)


def test_nobody_else_may_write_to_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(nccl.tempfile, "gettempdir", lambda: str(tmp_path / "temporary"))
    kept = nccl.cache_folder()
    assert kept == tmp_path / "crossrail" / "nccl"
    kept.chmod(0o777)
    assert nccl.cache_folder().parent == tmp_path / "temporary"


@needs_library
def test_the_doctor_tells_which_nccl_there_is(pretended, monkeypatch):
    monkeypatch.setattr(nccl_health.shutil, "which", lambda _: "/usr/bin/python3")
    assert [finding.words for finding in nccl_health.check_nccl()] == [f"NCCL ({pretended}): 'crossrail run --nccl' stands in its place"]
    with open(pretended, "ab") as file:
        file.write(b"\0NCCL version 2.28.9+cuda13.0\0")
    assert f"NCCL 2.28.9 ({pretended})" in nccl_health.check_nccl()[0].words
    pretended.write_text("no library")
    said = nccl_health.check_nccl()[0]
    assert said.level == "note" and "is no shared library of 64 bits" in said.words
    monkeypatch.setenv("CROSSRAIL_NCCL", "/nothing/libnccl.so.2")
    assert not nccl_health.check_nccl()
