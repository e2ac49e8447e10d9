"""Every command with wrong arguments: one sentence and the exit code, never a traceback."""

import errno
import shlex
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from crossrail import core, jobs
from crossrail.bench import run as bench_run
from crossrail.cli import app as cli_app, demo
from crossrail.cli.app import main
from crossrail.cli.words import split_run
from crossrail.errors import CliError

CATALOGUE = [{"collective": "alltoall", "memory": "host", "name": name, "summary": "", "parameters": []} for name in ("bruck", "node_shared")]

# These are the parser's words, and those of the newest Typer.
OUT_OF_RANGE = "is not in the range|Input should be"
NO_INTEGER = "'two' is not a whole number|Input should be a valid integer"

WRONG = [
    ("runn -n 2 ./app", 2, "Did you mean 'run'?"),
    ("--versio", 2, "--version"),
    ("run", 2, "No program is given"),
    ("run -n 2 /nosuch/app", 127, "The program '/nosuch/app' is not found."),
    ("run -n 2 /etc/passwd", 126, "The program '/etc/passwd' is not executable."),
    ("run -n 0 -- /bin/true", 2, OUT_OF_RANGE),
    ("run -n -3 -- /bin/true", 2, OUT_OF_RANGE),
    ("run -n two -- /bin/true", 2, NO_INTEGER),
    ("run -n 2 --mpi pmix -- /bin/true", 2, "'pmix' is no flavour of MPI"),
    ("run -n 2 --mpi openmpi --launcher nosuch -- /bin/true", 2, "The launcher 'nosuch' is not found."),
    ("run -n 2 --mpi openmpi --launcher /bin/false --show -- /bin/true", 2, "names neither"),
    ("run /etc", 126, "'/etc' is a folder; name a program."),
    ("run --mpi openmpi /etc", 126, "'/etc' is a folder; name a program."),
    ("lib /etc", 126, "'/etc' is a folder; name a program."),
    ("run --html '' -- /bin/true", 2, "--html needs the name of a file or folder; none is given."),
    ("run --trace= -- /bin/true", 2, "--trace needs the name"),
    ("run -n 99999999999999999999 -- /bin/true", 2, OUT_OF_RANGE),
    ("cluster -H 2 -n 99999999999999999999 -- /bin/true", 2, OUT_OF_RANGE),
    ("bench alltoall -n 2147483648", 2, OUT_OF_RANGE),
    ("tune alltoall -n 4,2147483648", 2, "there are no more than 2147483647"),
    ("tune alltoall -n x", 2, "write for example 4,16,56."),
    ("bench alltoall --mpi foo", 2, "'foo' is no flavour of MPI known here; take one of openmpi, mpich, abi."),
    ("tune alltoall -n 2 --mpi foo", 2, "'foo' is no flavour of MPI known here; take one of openmpi, mpich, abi."),
    ("tune alltoall -n 2 --seconds 0", 2, "--seconds takes seconds, more than 0."),
    ("tune alltoall -n 2 --seconds -1", 2, "--seconds takes seconds, more than 0."),
    ("tune alltoall -n 2 --output /etc", 2, "/etc is a folder; name a file."),
    ("demo --html /dev/null/x/demo.html", 2, "Nothing can be written to /dev/null/x: /dev/null is no folder."),
    ("demo --html /etc", 2, "/etc is a folder; name a file."),
    ("lib", 2, "Which MPI?"),
    ("lib /nosuch/app", 127, "is not found"),
    ("lib --mpi intel", 2, "'intel' is no flavour"),
    ("report /nosuch", 2, "There is no folder /nosuch."),
    ("list alltoal", 2, "Did you mean 'alltoall'?"),
    ("list alltoall --settings", 2, "Settings are listed for all collectives at once: leave out 'alltoall'."),
    ("tune alltoall -n ''", 2, "-n needs a value; none is given."),
    ("explain alltoall --node-of= --bytes 8", 2, "--node-of needs a value; none is given."),
    ("bench alltoall --algorithms ''", 2, "--algorithms needs a value; none is given."),
    ("list --markdown", 2, "--markdown is for --settings."),
    ("list --conf --json", 2, "--conf, --markdown and --json are three forms: choose one."),
    ("explain alltoall --bytes 8 --node-of 0,0,-1", 2, "Nodes are numbered from 0 on, not '0,0,-1'."),
    ("demo --rounds 0", 2, OUT_OF_RANGE),
    ("bench alltoall -n 2 --buffers 100000000000", 2, OUT_OF_RANGE),
    ("bench", 2, "Missing argument"),
    ("bench alltoal", 2, "Did you mean 'alltoall'?"),
    ("bench alltoall --algorithms bruk", 2, "Did you mean 'bruck'?"),
    ("bench alltoall --algoritms bruck", 2, "Did you mean --algorithms?|Possible options: --algorithms"),
    ("bench alltoall -n two", 2, NO_INTEGER),
    ("bench alltoall --min lots", 2, "'lots' is not a size"),
    ("bench alltoall --max", 2, "requires an argument"),
    ("bench alltoall --memory hip -n 2", 2, "The memory is host or cuda, not 'hip'."),
    ("bench alltoall --step 3 -n 2", 2, "The step is 2 or sqrt2, not '3'."),
    ("bench alltoall --html /nosuch/x.html", 2, "There is no folder /nosuch"),
    ("bench alltoall --output /dev/null/x", 2, "Nothing can be written to /dev/null/x: /dev/null is no folder."),
    ("tune alltoall --algorithms bruk -n 2", 2, "Did you mean 'bruck'?"),
    ("doctor extra", 2, "unexpected extra argument"),
    ("doctor --cleen", 2, "Did you mean --clean?|Possible options: --clean"),
    ("info --nosuch", 2, "No such option: --nosuch."),
    ("cluster -H 2 -n 4", 2, "No program is given"),
]


@pytest.fixture(autouse=True)
def nothing_starts(monkeypatch):
    """A small catalogue; no job may start."""
    monkeypatch.setattr(core, "catalogue", lambda: CATALOGUE)
    monkeypatch.setattr(demo, "resolve_subject", lambda folder: pytest.fail("the demo was started"))
    monkeypatch.setattr(bench_run, "run_bench", lambda request, start: pytest.fail("a bench was started"))


@pytest.mark.parametrize("words, code, sentence", WRONG)
def test_one_sentence_and_the_exit_code(words, code, sentence, capsys):
    assert main(shlex.split(words)) == code
    said = capsys.readouterr().err
    assert any(one in said for one in sentence.split("|")) and said.startswith("crossrail: ") and said.count("\n") == 1 and "Traceback" not in said and ".." not in said


def test_ctrl_c_has_a_shells_exit_code(monkeypatch, capsys):
    def interrupted(*_words, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli_app.typer.main, "get_command", lambda _app: type("Commands", (), {"main": interrupted, "commands": {}}))
    assert main(["doctor"]) == 130 and "Stopped" in capsys.readouterr().err


def test_what_nobody_has_foreseen_is_a_sentence(monkeypatch, capsys):
    def broken(*_words, **_options):
        raise ZeroDivisionError("division by\nzero")

    monkeypatch.setattr(cli_app.typer.main, "get_command", lambda _app: type("Commands", (), {"main": broken, "commands": {}}))
    assert main(["doctor"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("crossrail: This should not have happened: ZeroDivisionError: division by zero. Please report it") and said.count("\n") == 1
    monkeypatch.setattr(cli_app.sys, "flags", SimpleNamespace(dev_mode=True))
    with pytest.raises(ZeroDivisionError):
        main(["doctor"])


def test_srun_has_an_option_mpi_of_its_own():
    for said in ("--mpi=pmix", "--mpi pmix"):
        parts = split_run(shlex.split(f"-n 8 --launcher srun {said} -N 2 --mpi openmpi -- ./app"))
        assert parts.own == ["-n", "8", "--launcher", "srun", "--mpi", "openmpi"]
        assert sorted(parts.launcher) == ["--mpi=pmix", "-N", "2"] and parts.launcher.index("2") == parts.launcher.index("-N") + 1
    assert split_run(["--launcher=/usr/bin/srun", "--mpi=pmi2", "./app"]).launcher == ["--mpi=pmi2"]
    assert split_run(["--mpi", "pmix", "./app"]).own == ["--mpi", "pmix"]


@pytest.mark.parametrize("launcher, shown", [("srun", "srun -n 8 --export=ALL,LD_PRELOAD="), ("mpiexec.hydra", "mpiexec.hydra -n 8 -genv"),
                                             (None, "mpirun -n 8 ")])
def test_show_needs_no_launcher(launcher, shown, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("CROSSRAIL_LIBRARY_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    for flavour in ("openmpi", "mpich"):
        (tmp_path / f"libcrossrail_mpi_{flavour}.so").touch()
    named = ["--launcher", launcher] if launcher else []
    flavour = "mpich" if launcher == "mpiexec.hydra" else "openmpi"
    assert main(["run", "-n", "8", *named, "--mpi", flavour, "--show", "--report-folder", str(tmp_path / "r"), "--", "./app"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(shown) and "CROSSRAIL_REPORT" in said and not (tmp_path / "r").exists()
    assert main(["run", "-n", "8", *named, "--mpi", flavour, "--", "./app"]) == 2


def test_lib_asks_the_program(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("CROSSRAIL_LIBRARY_DIR", str(tmp_path))
    (tmp_path / "libcrossrail_mpi_mpich.so").touch()
    monkeypatch.setattr(jobs, "find_flavour", lambda program: jobs.Found("mpich", None, "it loads libmpich.so.12"))
    assert main(["lib", "./app"]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "libcrossrail_mpi_mpich.so")
    assert main(["lib", "./app", "--mpi", "openmpi"]) == 2


def test_srun_is_not_told_what_is_exported(monkeypatch):
    from crossrail.launchers import Job, Launcher, srun_words

    job = Job(Launcher("/bin/srun", "srun"), 2, ["./app"], [], {"CROSSRAIL_SEGMENT": "memfd,shm", "LD_PRELOAD": "/l.so"})
    with pytest.raises(CliError, match="comma"):
        srun_words(job)
    monkeypatch.setenv("CROSSRAIL_SEGMENT", "memfd,shm")
    assert srun_words(job) == ["-n", "2", "--export=ALL,LD_PRELOAD=/l.so"]


def test_a_search_path_without_programs_is_one_sentence():
    done = subprocess.run([str(Path(__file__).parents[3] / "crossrail"), "doctor"], env={"PATH": ""}, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (2, "crossrail: PATH names no folder with the system's programs, such as /usr/bin.\n")


def test_a_current_folder_that_is_gone_is_said(tmp_path, monkeypatch, capsys):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["bench", "alltoall", "-n", "2", "--csv", "x.csv"]) == 2
    assert capsys.readouterr().err == "crossrail: The current folder has been removed: change to another one.\n"


def test_a_number_may_stand_without_a_space():
    parts = split_run(["-n4", "-x1", "--", "./app"])
    assert (parts.own, parts.launcher, parts.program) == (["-n", "4"], ["-x1"], ["./app"])


def test_a_pipe_that_nobody_reads_is_not_a_finding(monkeypatch):
    monkeypatch.setattr(core, "catalogue", lambda: (_ for _ in ()).throw(BrokenPipeError(errno.EPIPE, "Broken pipe")))
    assert main(["list"]) == 141
