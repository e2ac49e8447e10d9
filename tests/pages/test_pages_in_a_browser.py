"""The pages that commands write, in headless Chromium: nothing clipped, nothing over something else, enough contrast, wide and narrow, light and dark."""

import os
from pathlib import Path

import pytest
from browser import Browser, find_browser
from example_pages import write_pages

MEASURE = (Path(__file__).parent / "measure.js").read_text()
WIDTHS = (1280, 500)
FAULTS = {  # what each must be found by, and where it is put
    "clipped by the picture": ("</svg>", '<text x="990" y="40" style="fill: var(--ink)">leaves</text></svg>'),
    "over '": ("</svg>", '<text x="100" y="40">one</text><text x="104" y="42">two</text></svg>'),
    "contrast": ("<h2>", '<p style="color: #999; background: #aaa">faint</p><h2>'),
    "wider than the screen": ("<h2>", '<div style="width: 3000px">wide</div><h2>'),
    "letters of": ("<h2>", '<p style="font-size: 7px">small</p><h2>'),
    "little contrast": ("</svg>", '<path class="point" style="fill: #888; fill: var(--line)" d="M0 0L9 9L0 9Z"/></svg>'),
    "column without words": ("<table>", "<table><tr><th></th></tr>"),
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


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_everything_can_be_read(browser, pages, width, dark):
    """With CROSSRAIL_SCREENSHOTS=FOLDER the pages are kept as pictures as well."""
    found = {}
    for page in pages:
        browser.open(page, width, dark)
        found[page.stem] = browser.evaluate(MEASURE)
        if os.environ.get("CROSSRAIL_SCREENSHOTS"):
            browser.screenshot(Path(os.environ["CROSSRAIL_SCREENSHOTS"]) / f"{page.stem}_{width}_{'dark' if dark else 'light'}.png")
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(browser, pages, tmp_path, fault):
    """The measuring finds what it looks for: a page with one fault of each kind."""
    before, after = FAULTS[fault]
    (tmp_path / "faulty.html").write_text(pages[0].read_text().replace(before, after, 1))
    browser.open(tmp_path / "faulty.html", 1280, False)
    assert any(fault in one for one in browser.evaluate(MEASURE))


def test_a_click_on_a_name_hides_its_line(browser, pages):
    browser.open(pages[0], 500, False)
    state = 'getComputedStyle(document.querySelector("svg.narrow .series[data-name=crossrail] .line")).display'
    click = 'document.querySelector(".entry[data-name=crossrail]").click()'
    states = [browser.evaluate(state)]
    for _ in range(2):
        browser.evaluate(click)
        states.append(browser.evaluate(state))
    assert states == ["inline", "none", "inline"]
