"""The site: its navigation names every page, and it builds without a broken link."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OF_THE_ROOT = {"ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "tests/README.md"}
MKDOCS = ROOT / "build/docs_venv/bin/mkdocs"
CONFIGURATION = (ROOT / "mkdocs.yml").read_text()


def build(folder, configuration=ROOT / "mkdocs.yml"):
    """Builds the site in strict mode; skipped where MkDocs is not installed."""
    if not MKDOCS.exists():
        pytest.skip("no MkDocs here: the site is not built (cmake/setup.sh docs fetches it)")
    return subprocess.run([MKDOCS, "build", "--strict", "--config-file", configuration, "--site-dir", folder], cwd=ROOT, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=False)


def test_the_navigation_names_every_page_once():
    named = re.findall(r"[\w/.-]+\.md\b", CONFIGURATION.partition("\nnav:")[2])
    pages = {str(page.relative_to(ROOT / "docs")) for page in ROOT.glob("docs/**/*.md")}
    assert sorted(named) == sorted(pages | OF_THE_ROOT)


def test_it_builds_without_a_broken_link(tmp_path):
    done = build(tmp_path)
    assert done.returncode == 0, done.stdout
    assert all((tmp_path / page).exists() for page in ("index.html", "glossary.html", "CHANGELOG.html", "decisions/0001-slots-and-fibers.html", "search/search_index.json"))
    assert 'href="CONTRIBUTING.html"' in (tmp_path / "index.html").read_text()
    assert 'href="include/crossrail/crossrail.h"' in (tmp_path / "c_api.html").read_text() and (tmp_path / "include/crossrail/crossrail.h").exists()


def test_a_broken_link_fails_the_build(tmp_path):
    pages = tmp_path / "docs"
    pages.mkdir()
    (pages / "index.md").write_text("# A page\n\n[nowhere](nowhere.md) and [no section](#nothing)\n")
    nav = "nav:\n  - index.md\n"
    (tmp_path / "mkdocs.yml").write_text(CONFIGURATION.partition("\nnav:")[0].replace("docs_dir: docs", f"docs_dir: {pages}").replace("cmake/", f"{ROOT}/cmake/")
                                         .replace("omitted_files: warn", "omitted_files: ignore") + "\n" + nav)
    done = build(tmp_path / "site", tmp_path / "mkdocs.yml")
    assert done.returncode != 0 and "nowhere.md" in done.stdout and "#nothing" in done.stdout


def test_nothing_is_loaded_from_elsewhere(tmp_path):
    assert build(tmp_path).returncode == 0
    loaded = re.compile(r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="(?:https?:)?//')
    assert not [page.name for page in tmp_path.rglob("*.html") if loaded.search(page.read_text())]
