"""When a job was inside collective calls, as a figure of its page."""

from html import escape
from typing import List

from crossrail.report.time_share import SharedLine

WIDTH, HEIGHT, LEFT, TOP, FOOT = 800.0, 170.0, 48.0, 8.0, 24.0  # pixels of the picture, its margins included
LINE_STYLE = """
svg .carried { fill: var(--c0); } svg .native-call { fill: var(--c1); } svg .line-label { fill: var(--faint); font: 12px system-ui, sans-serif; }
svg .line-grid { stroke: var(--line); stroke-width: 1; }
"""


def bar(at: int, seconds: List[float], parts: List[float], names: List[str]) -> str:
    """One part of the run: native calls on top of carried ones."""
    full, width = HEIGHT - TOP - FOOT, (WIDTH - LEFT) / len(seconds)
    left, foot, drawn = LEFT + at * width, HEIGHT - FOOT, ""
    for kind, part in zip(names, parts):
        height = full * part
        foot -= height
        if height > 0:
            drawn += f'<rect class="{kind}" x="{left:.1f}" y="{foot:.1f}" width="{max(width - 0.5, 0.5):.1f}" height="{height:.1f}"/>'
    tooltip = f"{seconds[at]:.2f} s: {100 * parts[0]:.0f} % carried, {100 * parts[1]:.0f} % native"
    return f"<g><title>{escape(tooltip)}</title>{drawn}</g>" if drawn else ""


def axes(end: float) -> str:
    """Grid lines of the parts, and the times of the run in seconds."""
    full, drawn = HEIGHT - TOP - FOOT, ""
    for part in (0.0, 0.5, 1.0):
        height = HEIGHT - FOOT - full * part
        drawn += (f'<line class="line-grid" x1="{LEFT}" y1="{height:.1f}" x2="{WIDTH}" y2="{height:.1f}"/>'
                  f'<text class="line-label" x="{LEFT - 6}" y="{height + 4:.1f}" text-anchor="end">{100 * part:.0f} %</text>')
    for part, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        place = LEFT + (WIDTH - LEFT) * part
        drawn += f'<text class="line-label" x="{place:.1f}" y="{HEIGHT - 6}" text-anchor="{anchor}">{end * part:.3g} s</text>'
    return drawn


def time_line_figure(line: SharedLine) -> str:
    """What part of the processes' time was inside collective calls, over the run."""
    begins = [at * line.part_seconds for at in range(len(line.carried))]
    bars = "".join(bar(at, begins, [line.carried[at], min(line.native[at], 1 - line.carried[at])], ["carried", "native-call"]) for at in range(len(begins)))
    return ('<figure><figcaption>Part of the processes\' time that was inside collective calls, over the run</figcaption>'
            f'<svg viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" aria-label="Time inside collective calls over the run">'
            f"{axes(len(begins) * line.part_seconds)}{bars}</svg>"
            '<div class="legend"><span><i class="key c0"></i>carried by crossrail</span><span><i class="key c1"></i>native</span></div></figure>')
