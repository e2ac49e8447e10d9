"""Line charts over block sizes, as SVG that follows the reader's light or dark mode."""

import math
from dataclasses import dataclass, field
from html import escape
from typing import List, Optional, Tuple

from crossrail.sizes import format_size, format_time_us

# Of the drawing itself, with the colours that a page may use as well.
CHART_STYLE = """
:root { color-scheme: light dark; --ground: #fcfcfb; --card: #fff; --ink: #0b0b0b; --faint: #52514e; --line: #e4e3dc;
  --c0: #2a78d6; --c1: #eb6834; --c2: #1baf7a; --c3: #eda100; --c4: #e87ba4; --c5: #4a3aa7; --bad: #c0262d; }
@media (prefers-color-scheme: dark) { :root { --ground: #121211; --card: #1a1a19; --ink: #fff; --faint: #c3c2b7; --line: #383835;
  --c0: #3987e5; --c1: #d95926; --c2: #199e70;
  --c3: #c98500; --c4: #d55181; --c5: #9085e9; --bad: #ff7b7b; } }
svg text { font: 12px system-ui, sans-serif; fill: var(--faint); } svg .name { fill: var(--ink); font-weight: 600; }
.grid { stroke: var(--line); } .reference { stroke: var(--faint); stroke-dasharray: 4 4; } .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.point { stroke: var(--card); stroke-width: 1.5; }
""" + "".join(f".line.c{number} {{ stroke: var(--c{number}); }} .point.c{number} {{ fill: var(--c{number}); }}\n" for number in range(6))

WIDTH, HEIGHT = 720, 340
LEFT, RIGHT, TOP, BOTTOM = 64, 130, 16, 48
LABEL_DISTANCE = 15


@dataclass
class Series:
    """A line: its name, the number of its colour (0-5), and points (bytes > 0, value > 0)."""

    name: str
    colour: int
    points: List[Tuple[float, float]]


@dataclass
class Chart:
    """Both axes are logarithmic, but that of the values where they go from 0 to `linear_to`.

    `unit` follows values in tooltips; `reference` draws a line at that value.
    """

    caption: str
    value_label: str
    unit: str
    series: List[Series] = field(default_factory=list)
    reference: Optional[float] = None
    linear_to: Optional[float] = None


@dataclass
class Scale:
    """Maps low..high onto start..end (pixels), logarithmically unless it is `linear`."""

    low: float
    high: float
    start: float
    end: float
    linear: bool = False

    def place(self, value: float) -> float:
        """The pixel of a value."""
        if self.linear:
            return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)
        share = math.log(value / self.low) / math.log(self.high / self.low) if self.high > self.low else 0.5
        return self.start + share * (self.end - self.start)


def value_ticks(low: float, high: float) -> List[float]:
    """1, 2, 5 times powers of ten covering low..high; only 1 (or 1 and 5) where there would be many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if last - first <= 2 else (1,)
    ticks = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    below = max((tick for tick in ticks if tick <= low * 1.0001), default=low)
    above = min((tick for tick in ticks if tick >= high * 0.9999), default=high)
    return [tick for tick in ticks if below <= tick <= above]


def size_ticks(sizes: List[float]) -> List[float]:
    """At most ten of the measured sizes."""
    stride = -(-len(sizes) // 10)
    return sizes[::stride]


def scales(chart: Chart) -> Tuple[Scale, Scale, List[float], List[float]]:
    """The scales of x and y with their ticks."""
    sizes = sorted({size for series in chart.series for size, _ in series.points})
    across = Scale(sizes[0], sizes[-1], LEFT, WIDTH - RIGHT)
    if chart.linear_to:
        return across, Scale(0, chart.linear_to, HEIGHT - BOTTOM, TOP, True), size_ticks(sizes), [part * chart.linear_to / 5 for part in range(6)]
    values = [value for series in chart.series for _, value in series.points]
    values += [chart.reference] if chart.reference else []
    ticks = value_ticks(min(values), max(values))
    if len(ticks) < 2:
        ticks = [min(values) / 2, *ticks, max(values) * 2]
    return across, Scale(ticks[0], ticks[-1], HEIGHT - BOTTOM, TOP), size_ticks(sizes), ticks


def axes(chart: Chart) -> List[str]:
    """Grid, tick labels, axis titles, the reference line."""
    across, up, sizes, values = scales(chart)
    parts = []
    for value in values:
        y = up.place(value)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for size in sizes:
        parts.append(f'<text class="tick" x="{across.place(size):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{format_size(size)}</text>')
    if chart.reference:
        y = up.place(chart.reference)
        parts.append(f'<line class="reference" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(f'<text class="axis" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">block, from one rank to one other</text>')
    parts.append(f'<text class="axis" transform="translate(14 {middle}) rotate(-90)" text-anchor="middle">{escape(chart.value_label)}</text>')
    return parts


def label_heights(wanted: List[float]) -> List[float]:
    """Moves labels (pixels from the top) apart so that they do not overlap; order is kept."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    heights = list(wanted)
    for before, after in zip(order, order[1:]):
        heights[after] = max(heights[after], heights[before] + LABEL_DISTANCE)
    return heights


def lines(chart: Chart) -> List[str]:
    """The lines, their points with tooltips, and a label at each line's end."""
    across, up, _, _ = scales(chart)
    parts = []
    heights = label_heights([up.place(series.points[-1][1]) for series in chart.series])
    for series, height in zip(chart.series, heights):
        path = " ".join(f"{across.place(size):.1f},{up.place(value):.1f}" for size, value in series.points)
        parts.append(f'<polyline class="line c{series.colour}" points="{path}"/>')
        for size, value in series.points:
            shown = format_time_us(value) if chart.unit else f"{value:.2f}"
            tip = f"{series.name}, {format_size(size)}: {shown}{chart.unit or '×'}"
            parts.append(f'<circle class="point c{series.colour}" cx="{across.place(size):.1f}" cy="{up.place(value):.1f}" r="4">'
                         f"<title>{escape(tip)}</title></circle>")
        end = across.place(series.points[-1][0]) + 10
        parts.append(f'<circle class="point c{series.colour}" cx="{end + 4:.1f}" cy="{height:.1f}" r="4"/>')
        parts.append(f'<text class="name" x="{end + 12:.1f}" y="{height + 4:.1f}">{escape(series.name)}</text>')
    return parts


def draw(chart: Chart) -> str:
    """The chart as <figure>; empty when no series has points."""
    chart.series = [series for series in chart.series if series.points]
    if not chart.series:
        return ""
    keys = "".join(f'<span><i class="key c{series.colour}"></i>{escape(series.name)}</span>' for series in chart.series)
    legend = f'<div class="legend">{keys}</div>' if len(chart.series) > 1 else ""
    return (f"<figure><figcaption>{escape(chart.caption)}</figcaption>{legend}"
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(chart.caption)}">'
            f"{''.join(axes(chart) + lines(chart))}</svg></figure>")


def draw_file(chart: Chart) -> str:
    """The chart as an SVG file of its own; empty when no series has points."""
    chart.series = [series for series in chart.series if series.points]
    if not chart.series:
        return ""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"><title>{escape(chart.caption)}</title>'
            f'<style>{CHART_STYLE}</style><rect width="{WIDTH}" height="{HEIGHT}" style="fill: var(--card)"/>\n'
            + "\n".join(axes(chart) + lines(chart)) + "\n</svg>\n")
