"""One version, wherever it stands; and the changelog's first heading is it, or what comes after it."""

import re
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]
RELEASED = re.compile(r"^## (\d+\.\d+\.\d+), (\d{4}-\d\d-\d\d)$", re.MULTILINE)


def found(file: str, pattern: str) -> str:
    """What the pattern's group matches in the file; the file must have it."""
    match = re.search(pattern, (TREE / file).read_text(), re.MULTILINE)
    assert match, f"{file} has nothing like {pattern}"
    return match[1]


@pytest.mark.parametrize("file, pattern", [
    ("python/crossrail/__init__.py", r'^__version__ = "(.+)"'),
    ("python/crossrail/core.py", r"'(\d+\.\d+\.\d+)'"),
    ("include/crossrail/crossrail.h", r'^/\* "(\d+\.\d+\.\d+)" \*/'),
    ("CITATION.cff", r"^version: (.+)$"),
    ("CHANGELOG.md", RELEASED.pattern),
    ("docs/c_api.md", r'crossrail_version\(\)` \| `"(.+)"`'),
    ("docs/quick_start.md", r"libcrossrail (\S+) loads"),
])
def test_one_version_everywhere(file, pattern):
    assert found(file, pattern) == found("CMakeLists.txt", r"^project\(crossrail VERSION (\S+)")


def test_the_day_of_the_release_is_the_changelogs():
    day = RELEASED.search((TREE / "CHANGELOG.md").read_text())[2]
    assert found("CITATION.cff", r"^date-released: (.+)$") == day


def test_the_changelog_names_the_version_of_the_c_interface():
    c_interface = found("include/crossrail/crossrail.h", r"^#define CROSSRAIL_API_VERSION (\d+)")
    assert found("CHANGELOG.md", r"^C interface (\d+)") == c_interface
