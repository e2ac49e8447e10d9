"""The pages of docs/: those that are written by programs are up to date, and every link leads somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"(?<!`)\[[^\]\n]*\]\(([^)\s]+)\)")


def without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)


def anchors(page: Path) -> set:
    """What a forge makes of the headings."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", page.read_text(), flags=re.S), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_the_algorithms_page_says_what_the_files_say():
    made = subprocess.run([sys.executable, ROOT / "cmake/algorithms_page.py", ROOT], stdout=subprocess.PIPE, text=True, check=True)
    assert (ROOT / "docs/algorithms.md").read_text() == made.stdout, "python3 cmake/algorithms_page.py . >docs/algorithms.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in LINK.findall(without_code(page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{target} of {page.name}"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{target} of {page.name}"
