"""The pages that commands write, in headless Chromium: nothing clipped, nothing over something else, enough contrast, wide and narrow, light and dark."""

import os
from pathlib import Path

import pytest
from browser import Browser, find_browser
from example_pages import write_pages

from crossrail.report.chart_bands import CUT

MEASURE = [(Path(__file__).parent / name).read_text() for name in ("measure.js", "tables.js")]
WIDTHS = (1280, 500)
SCROLLING = """[...document.querySelectorAll(".scroll")].filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.getAttribute("aria-label"))"""
FAULTS = {  # Each is found by this, and is put here.
    "clipped by the picture": ("</svg>", '<text x="990" y="40" style="fill: var(--ink)">leaves</text></svg>'),
    "over '": ("</svg>", '<text x="100" y="40">one</text><text x="104" y="42">two</text></svg>'),
    "contrast": ("<h2>", '<p style="color: #999; background: #aaa">faint</p><h2>'),
    "wider than the screen": ("<h2>", '<div style="width: 3000px">wide</div><h2>'),
    "letters of": ("<h2>", '<p style="font-size: 7px">small</p><h2>'),
    "little contrast": ("</svg>", '<path class="point" style="fill: #888; fill: var(--line)" d="M0 0L9 9L0 9Z"/></svg>'),
    "column without words": ("<table>", "<table><tr><th></th></tr>"),
    "beside an empty margin": ("<h2>", '<div class="scroll" tabindex="0" style="min-width: 0; width: 300px"><div style="width: 400px">wide</div></div><h2>'),
    "high for a cell out of sight": ("<h2>", '<div class="scroll" tabindex="0"><table><tr><td>7</td><td style="padding-left: 1500px">a<br>b</td></tr></table></div><h2>'),
    "a word a line": ("<h2>", '<div style="width: 60px"><table><tr><td class="word" style="min-width: 0">its own clock for FFT exchanges</td></tr></table></div><h2>'),
    "us in the place": ("<h2>", "<table><tr><th>native us</th></tr></table><h2>"),
    "without groups": ("<h2>", "<table><tr><td>3859</td></tr></table><h2>"),
    "digits of a column": ("<h2>", "<table><tr><td>0.45 [0.4, 1]</td></tr><tr><td>0.383</td></tr></table><h2>"),
    "touches the title": ("</figcaption>", '</figcaption><div style="margin-top: -16px"></div>'),
    "cut off without notice": (CUT, ""),
    "without an arrow": ('<g class="series"', '<g><polygon class="band" points="80,16 90,16 90,40"/></g><g class="series"'),
}


@pytest.fixture(scope="module")
def browser():
    program = find_browser()
    if not program:
        pytest.skip("no Chromium here: the pages are not looked at (Debian: apt-get install chromium)")
    with Browser(program) as one:
        yield one


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return write_pages(tmp_path_factory.mktemp("pages"))


def faults(browser):
    """What is wrong with the page that the browser shows."""
    return [one for script in MEASURE for one in browser.evaluate(script)]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_everything_can_be_read(browser, pages, width, dark):
    """With CROSSRAIL_SCREENSHOTS=FOLDER the pages are kept as pictures as well."""
    found = {}
    for page in pages:
        browser.open(page, width, dark)
        found[page.stem] = faults(browser)
        if os.environ.get("CROSSRAIL_SCREENSHOTS"):
            browser.screenshot(Path(os.environ["CROSSRAIL_SCREENSHOTS"]) / f"{page.stem}_{width}_{'dark' if dark else 'light'}.png")
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("name", ["usual", "calls", "demo"])
def test_on_a_wide_screen_these_tables_need_no_scrolling(browser, pages, name):
    browser.open(next(page for page in pages if page.stem == name), 1280, False)
    assert browser.evaluate(SCROLLING) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(browser, pages, tmp_path, fault):
    """The measuring finds what it looks for: a page with one fault of each kind."""
    before, after = FAULTS[fault]
    (tmp_path / "faulty.html").write_text(pages[0].read_text().replace(before, after, 1))
    browser.open(tmp_path / "faulty.html", 1280, False)
    assert any(fault in one for one in faults(browser))


def test_a_click_on_a_name_hides_its_line(browser, pages):
    browser.open(pages[0], 500, False)
    state = 'getComputedStyle(document.querySelector("svg.narrow .series[data-name=crossrail] .line")).display'
    click = 'document.querySelector(".entry[data-name=crossrail]").click()'
    states = [browser.evaluate(state)]
    for _ in range(2):
        browser.evaluate(click)
        states.append(browser.evaluate(state))
    assert states == ["inline", "none", "inline"]
