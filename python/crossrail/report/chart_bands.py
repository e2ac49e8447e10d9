"""The areas around lines. What lies beyond the plot is cut off at its edge, with an arrow there."""

from typing import List, Tuple

from crossrail.report.chart import Chart, Scale, Series
from crossrail.report.chart_style import colour_number

HALF_WIDTH, HEIGHT = 6.0, 9.0  # pixels of an arrow
CUT = "An arrow at the edge: the band goes on beyond the plot there."

Points = List[Tuple[float, float]]


def beyond(value: float, height: Scale) -> bool:
    """Whether the plot ends before this value."""
    margin = 1e-9 * height.high
    return value > height.high + margin or value < height.low - margin


def is_cut(chart: Chart, height: Scale) -> bool:
    """Whether a band of the chart goes on beyond the plot."""
    return any(beyond(value, height) for series in chart.series if len(series.band) > 1 for _, *edges in series.band for value in edges)


def within(points: Points, top: float, bottom: float) -> Points:
    """A line from left to right, in pixels, that runs along the edges of the plot where it would leave it."""
    kept: Points = []
    for (x, y), (other_x, other_y) in zip(points, [*points[1:], points[-1]]):
        kept.append((x, min(max(y, top), bottom)))
        crossed = [(edge, (edge - y) / (other_y - y)) for edge in (top, bottom) if (y - edge) * (other_y - edge) < 0]
        kept += [(x + share * (other_x - x), edge) for edge, share in sorted(crossed, key=lambda one: one[1])]
    return kept


def arrow(x: float, edge: float, inwards: float) -> str:
    """The path of an arrow that points at the edge, from inside the plot; `inwards`: 1 where that is downwards, else -1."""
    return f"M{x:.1f} {edge:.1f}l{HALF_WIDTH:g} {inwards * HEIGHT:g}h{-2 * HALF_WIDTH:g}Z"


def band(series: Series, along: Scale, height: Scale) -> str:
    """The area between the lows and the highs; that of other contenders is seen where the reader points at their line."""
    if len(series.band) < 2:
        return ""
    least = height.low / 1e9 if not height.linear else height.low - 1e9  # a logarithm has no 0
    lows, highs = ([(along.place(one[0]), height.place(max(one[edge], least))) for one in series.band] for edge in (1, 2))
    top, bottom = height.end, height.start
    outline = within(highs, top, bottom) + within(lows, top, bottom)[::-1]
    kind = f'c{colour_number(series.colour)}{"" if series.band_seen else " asked"}'
    drawn = f'<polygon class="band {kind}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in outline)}"/>'
    cuts = "".join(arrow(x, top, 1) for x, y in highs if y < top - 0.05) + "".join(arrow(x, bottom, -1) for x, y in lows if y > bottom + 0.05)
    return drawn + (f'<path class="point cut {kind}" d="{cuts}"/>' if cuts else "")
