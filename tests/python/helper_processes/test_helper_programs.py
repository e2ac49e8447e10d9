"""A program sees nothing of its helper processes, in whatever language, whether it spawns processes or has sessions only."""

import re
import socket
import subprocess

import pytest

from helped_jobs import HELPED, PROGRAMS, ROOT, run, usable
from mpis import launcher_environment

BY_TURNS = "rank 0={host} slot=1\nrank 1={host} slot=0\n"
PLACED = {"openmpi4": ([], ["--bind-to", "none"], ["--bind-to", "core"], ["--rankfile", "FILE"]),
          "mpich4": ([], ["-bind-to", "core"], ["-bind-to", "user:1,0"])}


def seen(mpi, helpers, words):
    """What the ranks see of their job, in the order of the ranks; the helper processes, if any, have been used."""
    code, said = run(mpi, "tell", helpers, words)
    assert code == 0 and (HELPED in said) == bool(helpers), said
    return sorted(re.findall(r"sees: .*?\.", said))


@pytest.mark.parametrize("name, number", [(name, number) for name, placed in PLACED.items() for number in range(len(placed))])
def test_it_sees_what_it_would_see_without(name, number, tmp_path):
    mpi = usable(name)
    ranks = tmp_path / "ranks"
    ranks.write_text(BY_TURNS.format(host=socket.gethostname()))
    words = [str(ranks) if word == "FILE" else word for word in PLACED[name][number]]
    launched = subprocess.run([mpi.launcher, "-n", "2", *words, "true"], env=launcher_environment(mpi), capture_output=True, text=True, check=False)
    if launched.returncode:  # Open MPI 5.0.7 takes no rank file of a long path.
        pytest.skip(f"{name}: its launcher does not take {' '.join(words)} here: {launched.stderr}")
    native = seen(mpi, None, words)
    assert len(native) == 2 and "of 2, 0 of 2 on the node" in native[0]
    assert [seen(mpi, helpers, words) for helpers in (0, 2)] == [native, native]


@pytest.mark.parametrize("helpers", (0, 2))
@pytest.mark.parametrize("name", ("openmpi4", "openmpi5", "mpich5"))  # Debian's MPICH 4 cannot spawn.
def test_it_spawns(name, helpers):
    code, said = run(usable(name), "spawn", helpers)
    assert code == 0 and said.count("PASS") == 3, said


@pytest.mark.parametrize("helpers", (0, 2))
@pytest.mark.parametrize("way", ("session", "session_too"))
@pytest.mark.parametrize("name", ("openmpi5", "mpich4", "mpich5"))
def test_it_has_sessions(name, way, helpers):
    """Without MPI_COMM_WORLD no rank has an entry of CROSSRAIL_NODES: all are on one node, where nobody needs help."""
    code, said = run(usable(name), way, helpers)
    assert code == 0 and said.count("PASS") == 2 and (HELPED in said) == (helpers > 0 and way == "session_too"), said


@pytest.mark.parametrize("helpers", (0, 2))
@pytest.mark.parametrize("name", ("openmpi4", "mpich4"))
def test_it_is_of_fortran(name, helpers):
    mpi = usable(name)
    program = PROGRAMS / mpi.build / "helped_f08"
    if not program.exists():
        pytest.skip(f"{name}: there is no mpifort.{mpi.flavour}, by which {program} is built")
    code, said = run(mpi, "", helpers, program=[str(program)])
    assert code == 0 and said.count("PASS") == 2 and (HELPED in said) == bool(helpers), said


@pytest.mark.parametrize("helpers", (0, 2))
def test_it_is_of_python(helpers):
    mpi = usable("openmpi4")
    asked = subprocess.run(["/usr/bin/python3", "-c", "import numpy; from mpi4py import MPI; print(MPI.Get_library_version())"], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, check=False)
    if "Open MPI v4" not in asked.stdout:
        pytest.skip(f"no mpi4py and numpy of Open MPI 4: {asked.stdout.strip()[-200:]}")
    code, said = run(mpi, "", helpers, program=["/usr/bin/python3", str(ROOT / "tests/mpi/helped.py")])
    assert code == 0 and said.count("PASS") == 2 and (HELPED in said) == bool(helpers), said
