"""Line charts as SVG that follows the reader's light or dark mode: names beside the lines where there is room, else a legend."""

from html import escape
from typing import List, Tuple

from crossrail.report.chart import Chart, Frame, Scale, Series, across, format_tick, format_value, size_ticks, up
from crossrail.report.chart_bands import CUT, band, is_cut
from crossrail.report.chart_labels import LABEL_DISTANCE, name_lines, names_width, place_names
from crossrail.report.chart_style import CHART_STYLE, colour_number, dash_of, key, mark_path
from crossrail.report.size_bars import size_bars

WIDE, NARROW = 1000.0, 430.0  # pixels of a picture for a screen and for a telephone
MARK_DISTANCE = 30.0  # pixels between two marks of a line
NAME_GAP = 26.0  # pixels between the plot and the names, for the leaders and the marks


def wide_frame(chart: Chart) -> Frame:
    """With room for the names of all lines."""
    names = [series.name for series in chart.series]
    lines = sum(len(name_lines(name)) for name in names)
    return Frame(WIDE, max(360.0, LABEL_DISTANCE * lines + 70), 72, NAME_GAP + 16 + names_width(names), True)


def narrow_frame() -> Frame:
    """Without names."""
    return Frame(NARROW, 330, 68, 22, False)


def axes(chart: Chart, frame: Frame) -> List[str]:
    """Grid, tick labels, axis titles, the reference line."""
    along, (height, values, finer) = across(chart, frame), up(chart, frame)
    sizes, powers = size_ticks(along.low, along.high, 12 if frame.named else 6)
    parts = [f'<line class="grid minor" x1="{frame.left:g}" x2="{frame.plot_right:g}" y1="{height.place(one):.1f}" y2="{height.place(one):.1f}"/>' for one in finer]
    parts += [f'<line class="grid{"" if one in sizes else " minor"}" x1="{along.place(one):.1f}" x2="{along.place(one):.1f}" '
              f'y1="{frame.top:g}" y2="{frame.plot_bottom:g}"/>' for one in dict.fromkeys([*powers, *sizes])]
    for value in values:
        y = height.place(value)
        parts.append(f'<line class="grid" x1="{frame.left:g}" x2="{frame.plot_right:g}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{frame.left - 8:g}" y="{y + 4:.1f}" text-anchor="end">{format_tick(value, chart.unit)}</text>')
    for size in sizes:
        parts.append(f'<text class="tick" x="{along.place(size):.1f}" y="{frame.plot_bottom + 18:g}" text-anchor="middle">{chart.size_text(size)}</text>')
    if chart.reference:
        y = height.place(chart.reference)
        parts.append(f'<line class="reference" x1="{frame.left:g}" x2="{frame.plot_right:g}" y1="{y:.1f}" y2="{y:.1f}"/>')
    middle = (frame.top + frame.plot_bottom) / 2
    parts.append(f'<text class="axis" x="{(frame.left + frame.plot_right) / 2:g}" y="{frame.height - 8:g}" text-anchor="middle">'
                 f"{escape(chart.size_label)}</text>")
    parts.append(f'<text class="axis" transform="translate(12 {middle:g}) rotate(-90)" text-anchor="middle">{escape(chart.value_label)}</text>')
    return parts


def points_of(series: Series, along: Scale, height: Scale, chart: Chart) -> List[str]:
    """Marks, a little apart from each other, and what a pointer finds at every point."""
    parts, last = [], None
    for size, value in series.points:
        x, y = along.place(size), height.place(value)
        if last is None or x - last >= MARK_DISTANCE or size == series.points[-1][0]:
            parts.append(f'<path class="point c{colour_number(series.colour)}" d="{mark_path(series.colour, x, y)}"/>')
            last = x
        tip = f"{series.name}, {chart.size_text(size)}: {format_value(value, chart.unit)}"
        parts.append(f'<circle class="hit" cx="{x:.1f}" cy="{y:.1f}" r="7"><title>{escape(tip)}</title></circle>')
    return parts


def name_of(series: Series, end: Tuple[float, float], middle: float, frame: Frame) -> str:
    """The leader from the line's end, the mark, and the name in its lines."""
    x, number = frame.plot_right + NAME_GAP, colour_number(series.colour)
    texts = name_lines(series.name)
    first = middle + 4 - LABEL_DISTANCE * (len(texts) - 1) / 2
    words = "".join(f'<tspan x="{x + 10:g}" y="{first + LABEL_DISTANCE * line:.1f}">{escape(text)}</tspan>' for line, text in enumerate(texts))
    return (f'<path class="leader c{number}" d="M{end[0] + 5:.1f} {end[1]:.1f}L{frame.plot_right + 8:g} {end[1]:.1f}L{x - 6:g} {middle:.1f}"/>'
            f'<path class="point c{number}" d="{mark_path(series.colour, x, middle)}"/><text class="name">{words}<title>{escape(series.name)}</title></text>')


def lines(chart: Chart, frame: Frame) -> List[str]:
    """A group for every line, crossrail's last and so on top: band, line, points, name."""
    along, (height, _, _) = across(chart, frame), up(chart, frame)
    ends = [(along.place(series.points[-1][0]), height.place(series.points[-1][1])) for series in chart.series]
    middles = place_names([y for _, y in ends], [len(name_lines(series.name)) for series in chart.series], frame.top - 8, frame.height - 4)
    drawn = {}
    for series, end, middle in zip(chart.series, ends, middles):
        path = " ".join(f"{along.place(size):.1f},{height.place(value):.1f}" for size, value in series.points)
        dash = f' stroke-dasharray="{dash_of(series.colour)}"' if dash_of(series.colour) else ""
        name = name_of(series, end, middle, frame) if frame.named else ""
        drawn[series.name] = (series.colour, f'<g class="series" data-name="{escape(series.name)}">{band(series, along, height)}'
                              f'<polyline class="line c{colour_number(series.colour)}"{dash} points="{path}"/>'
                              f'{"".join(points_of(series, along, height, chart))}{name}</g>')
    return [text for _, text in sorted(drawn.values(), key=lambda one: -one[0])]


def picture(chart: Chart, frame: Frame, kind: str) -> str:
    """The chart in a frame, as an element of a page."""
    return (f'<svg class="{kind}" viewBox="0 0 {frame.width:g} {frame.height:g}" role="img" aria-label="{escape(chart.caption)}">'
            f"{''.join(axes(chart, frame) + lines(chart, frame))}</svg>")


def notes(chart: Chart) -> str:
    """What the dashed line and the bands are, and what a pointer does."""
    said = ["Above the dashed line: faster."] if chart.reference else []
    if any(len(series.band) > 1 for series in chart.series):
        said.append(chart.bands + (" Those of other contenders show up under the pointer." if any(series.band and not series.band_seen for series in chart.series) else ""))
        said += [CUT] if is_cut(chart, up(chart, narrow_frame())[0]) else []
    return " ".join([*said, "A click on a name hides its line."])


def draw(chart: Chart) -> str:
    """The chart as <figure>, for wide and narrow screens; bars where there is one size only; empty when no series has points."""
    chart.series = [series for series in chart.series if series.points]
    if not chart.series:
        return ""
    if len({size for series in chart.series for size, _ in series.points}) == 1:
        return size_bars(chart)
    keys = "".join(f'<button type="button" class="entry" data-name="{escape(series.name)}" aria-pressed="false">{key(series.colour)}{escape(series.name)}</button>'
                   for series in chart.series)
    return (f'<figure class="chart"><figcaption>{escape(chart.caption)}</figcaption>{picture(chart, wide_frame(chart), "wide")}'
            f'{picture(chart, narrow_frame(), "narrow")}<div class="legend">{keys}</div><p class="faint note">{escape(notes(chart))}</p></figure>')


def draw_file(chart: Chart) -> str:
    """The chart as an SVG file of its own; empty when no series has points."""
    chart.series = [series for series in chart.series if series.points]
    if not chart.series:
        return ""
    frame = wide_frame(chart)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {frame.width:g} {frame.height:g}" role="img"><title>{escape(chart.caption)}</title>'
            f'<style>{CHART_STYLE}</style><rect width="{frame.width:g}" height="{frame.height:g}" style="fill: var(--card)"/>\n'
            + "\n".join(axes(chart, frame) + lines(chart, frame)) + "\n</svg>\n")
