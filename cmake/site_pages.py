"""A hook of MkDocs: pages of the tree's root and the headers become files of the site, and links that mean them lead there."""

import os
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "tests/README.md")
HEADERS = ("include/crossrail/crossrail.h", "include/crossrail/device_module.h", "include/crossrail/device_memory.h")
LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(#[^)\s]*)?(?=\))")
CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)


def on_files(files, config):
    """Adds the pages and headers to what is built."""
    for path in (*PAGES, *HEADERS):
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    return files


def place_in_site(path):
    """Where a file of the tree (relative to its root) lies in the site; None where it is no part of it."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return path if path in (*PAGES, *HEADERS) else None


def on_page_markdown(markdown, page, config, files):
    """Links as they are right in the tree become links that are right in the site; the others stay, and the build refuses them."""
    name = page.file.src_uri
    here = os.path.dirname(name if name in PAGES else f"docs/{name}")

    def moved(match):
        target = place_in_site(os.path.normpath(os.path.join(here, match[1])))
        return match[0] if target is None else os.path.relpath(target, os.path.dirname(name) or ".") + (match[2] or "")

    parts = CODE.split(markdown)
    return "".join(part if number % 2 else LINK.sub(moved, part) for number, part in enumerate(parts))
