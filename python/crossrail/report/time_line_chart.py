"""When a job was inside collective calls, as a figure of its page."""

from dataclasses import dataclass
from html import escape
from typing import List

from crossrail.report.chart_style import key
from crossrail.report.time_share import SharedLine

TOP, FOOT, LEFT = 8.0, 24.0, 48.0  # pixels around the bars
SHARES = (0.0, 0.5, 1.0)


@dataclass(frozen=True)
class Size:
    """The pixels of the picture, its margins included; `kind`: for wide or for narrow screens."""

    kind: str
    width: float
    height: float

    @property
    def full(self) -> float:
        """The height of a bar of 100 %."""
        return self.height - TOP - FOOT

    def level(self, share: float) -> float:
        """The pixel of a share of the time."""
        return self.height - FOOT - self.full * share

    def across(self, share: float) -> float:
        """The pixel of a share of the run."""
        return LEFT + (self.width - LEFT - 4) * share


SIZES = (Size("wide", 1000.0, 190.0), Size("narrow", 430.0, 190.0))


def bar(line: SharedLine, at: int, size: Size) -> str:
    """One part of the run: native calls on top of those that crossrail handled."""
    count = len(line.carried)
    left, width = size.across(at / count), size.across(1 / count) - LEFT
    parts = [line.carried[at], min(line.native[at], 1 - line.carried[at])]
    below, drawn = 0.0, ""
    for style, part in enumerate(parts):
        if part > 0:
            drawn += (f'<rect class="{"native-call " if style else "carried "}fill c{style}" x="{left:.1f}" y="{size.level(below + part):.1f}" '
                      f'width="{max(width - 0.5, 0.5):.1f}" height="{size.full * part:.1f}"/>')
        below += part
    tooltip = f"{at * line.part_seconds:.2f} s: {100 * parts[0]:.0f} % carried, {100 * parts[1]:.0f} % native"
    return f"<g><title>{escape(tooltip)}</title>{drawn}</g>" if drawn else ""


def axes(end: float, size: Size) -> str:
    """Grid lines of the shares, and the times of the run in seconds."""
    drawn = ""
    for share in SHARES:
        y = size.level(share)
        drawn += (f'<line class="grid" x1="{LEFT:g}" y1="{y:.1f}" x2="{size.across(1):g}" y2="{y:.1f}"/>'
                  f'<text class="tick" x="{LEFT - 6:g}" y="{y + 4:.1f}" text-anchor="end">{100 * share:.0f} %</text>')
    for share, anchor in zip(SHARES, ("start", "middle", "end")):
        drawn += f'<text class="tick" x="{size.across(share):.1f}" y="{size.height - 6:g}" text-anchor="{anchor}">{end * share:.3g} s</text>'
    return drawn


def picture(line: SharedLine, size: Size) -> str:
    """The bars over the run."""
    bars: List[str] = [bar(line, at, size) for at in range(len(line.carried))]
    return (f'<svg class="{size.kind}" viewBox="0 0 {size.width:g} {size.height:g}" role="img" aria-label="Time inside collective calls over the run">'
            f"{axes(len(bars) * line.part_seconds, size)}{''.join(bars)}</svg>")


def time_line_figure(line: SharedLine) -> str:
    """What part of the processes' time was inside collective calls, over the run."""
    return ('<figure><figcaption>Part of the processes\' time that was inside collective calls, over the run</figcaption>'
            + "".join(picture(line, size) for size in SIZES)
            + f'<div class="legend"><span>{key(0)}handled by crossrail</span><span>{key(1)}native</span></div></figure>')
