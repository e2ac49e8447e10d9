"""docs/installing.md names only what there is: CMake's options, make's targets, commands, files."""

import re
from pathlib import Path

import pytest
import typer

from crossrail.cli import app as command_line

TREE = Path(__file__).resolve().parents[2]
PAGE = (TREE / "docs/installing.md").read_text()
BLOCKS = "\n".join(re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S))


def test_options_of_cmake_are_known():
    files = [TREE / "CMakeLists.txt", TREE / "bench/CMakeLists.txt", TREE / "modules/CMakeLists.txt", *(TREE / "cmake").glob("*.cmake")]
    known = set(re.findall(r"\b(?:option|find_path|set)\((CROSSRAIL_\w+)", "\n".join(file.read_text() for file in files)))
    named = set(re.findall(r"(?:-D|cmake\.define\.)(CROSSRAIL_\w+)", PAGE))
    assert len(named) > 5 and named <= known


def test_targets_of_make_are_known():
    targets = set(re.search(r"^\.PHONY: (.*)$", (TREE / "Makefile").read_text(), re.M).group(1).split())
    named = set(re.findall(r"`make (\w+)`", PAGE)) | set(re.findall(r"^make (\w+)", BLOCKS, re.M))
    assert "deps" in named and named <= targets


def test_commands_are_known():
    command_line.register()
    commands = typer.main.get_command(command_line.app).commands
    named = set(re.findall(r"(?:^|[\s/(])crossrail (\w+) ", BLOCKS + " ", re.M))
    assert {"run", "lib"} <= named and named <= set(commands)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\bpackaging/[\w./]+\w", PAGE))))
def test_files_are_there(path):
    assert (TREE / path).exists()
