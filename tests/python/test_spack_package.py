"""packaging/spack: the recipe, with the parts of Spack that it uses made up, passes options that CMake files know."""

import re
import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

TREE = Path(__file__).resolve().parents[2]
DIRECTIVES = ("license", "version", "variant", "depends_on", "generator")


class MadeUpSpec:
    """A spec with one MPI and some variants; `satisfies` knows the expressions of the recipe only."""

    def __init__(self, *true: str) -> None:
        self.true = true

    def satisfies(self, expression: str) -> bool:
        assert expression in ("^[virtuals=mpi] openmpi", "^[virtuals=mpi] mpich@5:", "+cuda", "+rocm")
        return expression in self.true

    def __getitem__(self, name: str):
        return SimpleNamespace(mpicc=f"/{name}/bin/mpicc", prefix=SimpleNamespace(include=f"/{name}/include"))


@pytest.fixture
def recipe(monkeypatch):
    """The class of package.py, and what its directives were called with."""
    called = []
    package = ModuleType("spack.package")
    for name in DIRECTIVES:
        setattr(package, name, lambda *words, _name=name, **more: called.append((_name, *words)))
    cmake = ModuleType("spack_repo.builtin.build_systems.cmake")
    cmake.CMakePackage = type("CMakePackage", (), {
        "define": staticmethod(lambda name, value: f"-D{name}={value}"),
        "define_from_variant": lambda self, name, variant: f"-D{name}=variant {variant}"})
    parts = "spack_repo.builtin.build_systems.cmake".split(".")
    for name in ["spack", *(".".join(parts[:number]) for number in range(1, len(parts)))]:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "spack.package", package)
    monkeypatch.setitem(sys.modules, cmake.__name__, cmake)
    found = runpy.run_path(str(TREE / "packaging/spack/packages/crossrail/package.py"))
    return found["Crossrail"], called


def arguments(recipe, *true: str):
    """What the recipe passes to CMake for a spec of which these expressions are true, as a dict."""
    package = recipe[0]()
    package.spec = MadeUpSpec(*true)
    return dict(one[2:].split("=", 1) for one in package.cmake_args())


def test_options_are_known_to_cmake(recipe):
    files = [TREE / "CMakeLists.txt", TREE / "bench/CMakeLists.txt", TREE / "modules/CMakeLists.txt", *(TREE / "cmake").glob("*.cmake")]
    known = set(re.findall(r"\b(?:option|find_path|set)\((CROSSRAIL_\w+)", "\n".join(file.read_text() for file in files)))
    assert known >= {"CROSSRAIL_TESTS", "CROSSRAIL_MPICC"}
    for true in ((), ("^[virtuals=mpi] openmpi", "+cuda"), ("^[virtuals=mpi] mpich@5:", "+rocm")):
        assert {name for name in arguments(recipe, *true) if not name.startswith("CMAKE_")} <= known


def test_only_the_mpi_asked_for_is_built_for(recipe):
    openmpi = arguments(recipe, "^[virtuals=mpi] openmpi")
    assert openmpi["CROSSRAIL_MPICC"] == "/mpi/bin/mpicc"
    assert (openmpi["CROSSRAIL_MPICH_INCLUDE"], openmpi["CROSSRAIL_ABI_INCLUDE"]) == ("False", "False")
    mpich = arguments(recipe, "^[virtuals=mpi] mpich@5:")
    assert mpich["CROSSRAIL_OPENMPI_INCLUDE"] == "False" and "CROSSRAIL_ABI_INCLUDE" not in mpich


def test_gpus_only_where_asked_for(recipe):
    without = arguments(recipe)
    assert (without["CROSSRAIL_CUDA_INCLUDE"], without["CROSSRAIL_HIP_INCLUDE"]) == ("False", "False")
    assert arguments(recipe, "+cuda")["CROSSRAIL_CUDA_INCLUDE"] == "/cuda/include"


def test_sources_are_this_repository(recipe):
    assert recipe[0].git == f"file://{TREE}"


def test_needs_what_the_command_line_and_cmake_need(recipe):
    needed = {words[1].split("@")[0] for words in recipe[1] if words[0] == "depends_on"}
    project = (TREE / "pyproject.toml").read_text()
    packages = re.findall(r'"(\w+)>=', re.search(r"^dependencies = (.*)$", project, re.M).group(1))
    assert packages and {f"py-{name}" for name in packages} <= needed
    minimum = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", (TREE / "CMakeLists.txt").read_text()).group(1)
    assert ("depends_on", f"cmake@{minimum}:") in recipe[1]
