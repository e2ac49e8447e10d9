"""Which MPI a program uses, from what ldd and readelf print."""

import os
import stat

import pytest

from crossrail.errors import CliError
from crossrail.flavours import classify, find_flavour, parse_ldd, parse_readelf, python_of

READELF_FORTRAN = """
Dynamic section at offset 0x2d8 contains 30 entries:
  Tag        Type                         Name/Value
 0x0000000000000001 (NEEDED)             Shared library: [libfftw3.so.3]
 0x0000000000000001 (NEEDED)             Shared library: [libmpi_mpifh.so.40]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x000000000000001d (RUNPATH)            Library runpath: [/opt/mpi/lib]
"""
LDD_OPENMPI = """\tlinux-vdso.so.1 (0x00007ffd)
\tlibmpi_mpifh.so.40 => /opt/mpi/lib/libmpi_mpifh.so.40 (0x00007f01)
\tlibmpi.so.40 => /opt/mpi/lib/libmpi.so.40 (0x00007f02)
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f03)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f04)
"""


def needed(*names):
    """Lines of readelf for these libraries."""
    return parse_readelf("\n".join(f" 0x1 (NEEDED)  Shared library: [{name}]" for name in names))


def test_readelf_finds_the_direct_libraries():
    assert [library.name for library in parse_readelf(READELF_FORTRAN)] == ["libfftw3.so.3", "libmpi_mpifh.so.40", "libc.so.6"]


def test_a_fortran_program_of_open_mpi():
    assert classify(parse_readelf(READELF_FORTRAN)).flavour == "openmpi"


def test_ldd_gives_the_path_of_the_mpi_library():
    found = classify(parse_ldd(LDD_OPENMPI))
    assert (found.flavour, found.library) == ("openmpi", "/opt/mpi/lib/libmpi.so.40")


def test_a_library_that_is_not_found_still_tells():
    found = classify(parse_ldd("\tlibmpi.so.12 => not found\n"))
    assert (found.flavour, found.library) == ("mpich", None)


@pytest.mark.parametrize("name, flavour", [
    ("libmpi.so.40", "openmpi"), ("libmpi_usempif08.so.40", "openmpi"),
    ("libmpi.so.12", "mpich"), ("libmpich.so.12", "mpich"), ("libmpifort.so.12", "mpich"),
    ("libmpi_abi.so.0", "abi"), ("libmpi_abi.so.1", "abi"), ("libmpi_abi.so", "abi"),
])
def test_every_flavour_by_name(name, flavour):
    assert classify(needed("libm.so.6", name)).flavour == flavour


def test_no_mpi():
    assert classify(needed("libc.so.6", "libmpiP.so.3", "libmpi.so.20", "libmpdec.so.3")) is None


def test_the_standard_interface_upon_another_mpi():
    assert classify(needed("libmpi_abi.so.0", "libmpi.so.12")).flavour == "abi"


def test_two_mpis_are_refused():
    with pytest.raises(CliError, match="more than one MPI"):
        classify(needed("libmpi.so.40", "libmpich.so.12"))


def script(folder, first_line):
    """An executable script with this first line."""
    path = folder / "program"
    path.write_text(first_line + "\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_the_interpreter_of_a_script(tmp_path):
    assert python_of(script(tmp_path, "#!/usr/bin/env python3")) == "python3"
    assert python_of(script(tmp_path, "#!/opt/python/bin/python3.11 -u")) == "/opt/python/bin/python3.11"
    assert python_of(script(tmp_path, "#!/bin/sh")) is None
    assert python_of("/usr/bin/python3.12") == "/usr/bin/python3.12"


def test_a_shell_script_does_not_tell(tmp_path):
    assert find_flavour(script(tmp_path, "#!/bin/sh")) is None


def test_a_missing_program_and_one_that_is_not_executable(tmp_path):
    with pytest.raises(CliError, match="is not found"):
        find_flavour(str(tmp_path / "nothing"))
    plain = tmp_path / "plain"
    plain.write_text("")
    os.chmod(plain, 0o644)
    with pytest.raises(CliError, match="is not executable"):
        find_flavour(str(plain))
