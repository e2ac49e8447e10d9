"""The frame of every page: its style, its script, and tables that scroll by themselves on narrow screens."""

import re
from html import escape
from typing import Collection, List, Sequence

from crossrail.report.chart_style import CHART_STYLE

STYLE = CHART_STYLE + """
* { box-sizing: border-box; } body { margin: 0 auto; max-width: 1080px; padding: 24px 20px 60px; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 24px; margin: 0 0 4px; } h2 { font-size: 19px; margin: 36px 0 4px; } h3 { font-size: 16px; margin: 24px 0 4px; } p { margin: 6px 0; }
.faint { color: var(--faint); } .bad { color: var(--bad); font-weight: 600; } a { color: var(--link); }
figure, .tiles > div { background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
figure { margin: 16px 0; padding: 14px 16px 8px; } figcaption { font-weight: 600; margin-bottom: 8px; } figure svg { width: 100%; height: auto; display: block; }
.note { font-size: 13px; } .legend { display: flex; flex-wrap: wrap; gap: 2px 6px; color: var(--faint); font-size: 13px; }
.legend .entry { font: inherit; color: inherit; background: none; border: 0; border-radius: 4px; padding: 4px 6px; text-align: left; cursor: pointer; }
.legend .entry[aria-pressed=true] { text-decoration: line-through; } figure svg.key, .key { width: 12px; height: 12px; display: inline-block; margin-right: 5px; vertical-align: -1px; }
span.key { border-radius: 3px; } .chart .name { cursor: pointer; } .series.off > *:not(.name), .series.off .band, .series.off .cut { display: none; } .series.off .name { text-decoration: line-through; }
.series:hover .band { visibility: visible; fill-opacity: .3; } .series:hover .cut { visibility: visible; } svg:has(.series:hover) .series:not(:hover) > *:not(.name) { opacity: .25; }
figure svg.narrow { display: none; } .chart .legend { display: none; }
@media (max-width: 899px) { figure svg.wide { display: none; } figure svg.narrow { display: block; max-width: 620px; } .chart .legend { display: flex; } }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); gap: 12px; margin: 16px 0; } .tiles > div { padding: 10px 16px; }
.tiles b { display: block; font-size: 26px; } .scroll { overflow-x: auto; position: relative; left: 50%; transform: translateX(-50%); min-width: 100%; width: max-content;
  max-width: min(100vw - 40px, 1480px); background:
  linear-gradient(to right, var(--ground) 30%, transparent) left / 32px 100% no-repeat local, linear-gradient(to left, var(--ground) 30%, transparent) right / 32px 100% no-repeat local,
  linear-gradient(to right, var(--line), transparent) left / 14px 100% no-repeat scroll, linear-gradient(to left, var(--line), transparent) right / 14px 100% no-repeat scroll; }
figure .scroll { background: none; left: 0; transform: none; width: auto; } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 14px; }
th, td { text-align: right; padding: 4px 10px; border-bottom: 1px solid var(--line); white-space: nowrap; overflow-wrap: normal; vertical-align: top; }
th { color: var(--faint); font-weight: 600; vertical-align: bottom; } th[scope=row] { color: inherit; font-weight: inherit; vertical-align: top; } th[scope=row].word { white-space: normal; } td.word, th.word { text-align: left; }
td.best { font-weight: 700; } .bar { display: inline-block; height: 12px; border-radius: 3px; vertical-align: middle; }
td.bars { width: 60%; text-align: left; } td.word { white-space: normal; min-width: 6.5em; max-width: 44em; } td.text, th.text { white-space: normal; } .whole { white-space: nowrap; }
.groups > * { text-align: center; border-bottom: 0; padding-bottom: 0; }
@media (max-width: 899px) { th, td { padding: 4px 6px; } thead th { white-space: normal; } td.word, th.word { min-width: 6.5em; } }
"""

MANY_COLUMNS, LONGEST_WORDS = 5, 48

# A click on a name hides its line, and a second one shows it again.
SCRIPT = """
document.querySelectorAll("figure.chart").forEach(function (figure) {
  figure.addEventListener("click", function (event) {
    var named = event.target.closest(".entry, .name"), holder = named && named.closest("[data-name]");
    if (!holder) return;
    figure.querySelectorAll("[data-name]").forEach(function (one) {
      if (one.dataset.name !== holder.dataset.name) return;
      if (one.matches(".entry")) one.setAttribute("aria-pressed", one.getAttribute("aria-pressed") !== "true");
      else one.classList.toggle("off");
    });
  });
});
"""


def scrolling(table: str, label: str) -> str:
    """A table that scrolls by itself where it is too wide, by the keyboard as well; `label` is read to those who cannot see it."""
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(label)}">{table}</div>'


def with_its_unit(heading: str) -> str:
    """A heading that may break between words, but not before its unit."""
    return re.sub(r" (s|µs|%|/ \w+)$", "\u00a0\\1", heading)


def word_width(headings: Sequence[str], cells: Sequence[str]) -> str:
    """The least width of a column of words. A table of many columns scrolls on a narrow screen anyway: words broken into lines would only make its rows high there."""
    longest = max((len(text) for text in cells), default=0)
    return f' style="min-width: {min(longest, LONGEST_WORDS)}ch"' if len(headings) >= MANY_COLUMNS else ""


def html_table(headings: Sequence[str], rows: Sequence[Sequence[str]], words: Collection[int], label: str = "Table", groups: str = "") -> str:
    """A table of text; the columns numbered in `words` are words, the others numbers. `groups` is a row above the headings, as HTML."""
    kinds = [' class="word"' if number in words else "" for number in range(len(headings))]
    widths = [word_width(headings, [row[number] for row in rows]) if number in words else "" for number in range(len(headings))]
    head = "".join(f'<th scope="col"{kind}{width}>{escape(with_its_unit(text))}</th>' for kind, width, text in zip(kinds, widths, headings))
    body = "".join("<tr>" + "".join(f"<td{kind}>{escape(text)}</td>" for kind, text in zip(kinds, row)) + "</tr>" for row in rows)
    return scrolling(f"<table><thead>{groups}<tr>{head}</tr></thead><tbody>{body}</tbody></table>", label)


def document(heading: str, body: List[str], title: str = "") -> str:
    """A page by itself: `heading` is escaped, `body` is HTML, nothing is loaded from elsewhere."""
    return ('<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta name="description" content="{escape(heading)}"><title>{escape(title or heading)}</title><style>{STYLE}</style></head>'
            f"<body><main><h1>{escape(heading)}</h1>{''.join(body)}</main><script>{SCRIPT}</script></body></html>\n")
