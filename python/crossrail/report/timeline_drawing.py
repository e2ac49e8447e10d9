"""Calls as a drawing (SVG): a panel for each, one below the other over one axis of time."""

import math
from dataclasses import dataclass
from html import escape
from typing import List

from crossrail.report.call_timeline import CallTimeline, Part
from crossrail.report.chart import Scale
from crossrail.report.chart_style import CHART_STYLE
from crossrail.report.lanes import few_lanes
from crossrail.sizes import format_size, format_time_us

WIDTH, LEFT, RIGHT = 880.0, 84.0, 96.0  # pixels; of the margins beside the bars
TOP, HEADING, AXIS, LEGEND = 12.0, 44.0, 44.0, 42.0  # of heights: above all, of a panel's heading, below the panels
LANE, ROW_GAP, PANEL_GAP = 18.0, 8.0, 18.0
LEAST_BAR = 1.0  # so that nothing is too short to be seen
LETTER = 6.7  # pixels of a letter at most, on average, at 12 px
MOST_LANES = 24  # of a row that has names at its bars
MOST_TICKS = 10
SHORTEST = 0.001  # microseconds of the axis
COLOURS = {"phase": 5, "send": 0, "receive": 3, "device": 2, "on device": 4, "wait": 8}
WORDS = {"phase": "part of the call", "send": "send", "receive": "receive", "device": "GPU work", "on device": "on the GPU", "wait": "waiting"}
ROWS = (("messages", ("send", "receive")), ("GPU work", ("device",)), ("on the GPU", ("on device",)), ("waits for", ("wait",)))
TOGETHER = ("waits for", "on the GPU")  # rows of few lanes
NOTES = (("Messages: posted until seen complete.", {"send", "receive"}), ("GPU work: asked for until seen done.", {"device"}),
         ("On the GPU: when it did that.", {"on device"}))
STYLE = "svg text.inside { fill: var(--card); } .call { fill: none; stroke: var(--faint); } .end { stroke: var(--faint); stroke-dasharray: 4 4; }\n" \
    "svg text.beside { paint-order: stroke; stroke: var(--card); stroke-width: 4; stroke-linejoin: round; }\n"


@dataclass
class Row:
    """Bars of one kind or two, one below the other in `lanes`, which are `lane_height` pixels apart."""

    name: str
    lanes: List[List[Part]]

    @property
    def lane_height(self) -> float:
        """Less where there are too many for names."""
        return LANE if len(self.lanes) <= MOST_LANES else max(2.0, LANE * MOST_LANES / len(self.lanes))

    @property
    def height(self) -> float:
        """In pixels."""
        return self.lane_height * len(self.lanes)


def lanes_of(parts: List[Part], together: bool) -> List[List[Part]]:
    """A lane for each part, or, `together`, as few as let none lie on another one."""
    return few_lanes(parts) if together else [[part] for part in parts]


def rows_of(timeline: CallTimeline) -> List[Row]:
    """The call with its phases, then those rows that have something."""
    rows = [Row("call", lanes_of([part for part in timeline.parts if part.kind == "phase"], True) or [[]])]
    for name, kinds in ROWS:
        parts = [part for part in timeline.parts if part.kind in kinds]
        if parts:
            rows.append(Row(name, lanes_of(parts, name in TOGETHER or len(parts) > MOST_LANES)))
    return rows


def panel_height(rows: List[Row]) -> float:
    """With its heading."""
    return HEADING + sum(row.height for row in rows) + ROW_GAP * (len(rows) - 1)


def clipped(words: str, width: float) -> str:
    """As many letters as there is room for."""
    most = int(width / LETTER)
    return words if len(words) <= most else words[:most - 1] + "…"


def name_of(part: Part) -> str:
    """What stands at its bar."""
    if part.kind in ("send", "receive"):
        return f"{part.name} {'to' if part.kind == 'send' else 'from'} {part.peer}" if part.peer is not None else part.name
    if part.kind == "wait":
        return f"rank {part.peer}" if part.peer is not None else part.name.replace("wait for ", "")
    return f"{part.name}, {format_size(part.bytes)}" if part.kind in ("device", "on device") and part.bytes else part.name


def tooltip(part: Part) -> str:
    """What a pointer finds."""
    words = f"wait for {name_of(part)}" if part.kind == "wait" else name_of(part)
    size = f", {format_size(part.bytes)}" if part.bytes and part.kind not in ("device", "on device") else ""
    return f"{words}{size}: {part.began:.1f} to {part.ended:.1f} µs"


def label(part: Part, x: float, width: float, alone: bool) -> str:
    """The name in the bar, beside it, or, where it does not stand alone in its lane and there is no room, not at all; with `y` to fill in."""
    words = name_of(part)
    long = LETTER * len(words)
    if long + 8 <= width:
        return f'<text class="inside" x="{x + 4:.1f}" y="{{y:.1f}}">{escape(words)}</text>'
    if not alone:
        return ""
    if x + width + 5 + long <= WIDTH - 4:
        return f'<text class="beside" x="{x + width + 5:.1f}" y="{{y:.1f}}">{escape(words)}</text>'
    return f'<text class="beside" x="{x - 5:.1f}" y="{{y:.1f}}" text-anchor="end">{escape(clipped(words, x - LEFT - 5))}</text>' if x - LEFT > 40 else ""


def draw_row(row: Row, top: float, along: Scale) -> str:
    """The bars, their names where lanes are high enough, the row's own name."""
    drawn = f'<text class="tick" x="{LEFT - 8:g}" y="{top + min(row.height / 2, LANE / 2) + 4:.1f}" text-anchor="end">{row.name}</text>'
    high = row.lane_height
    for number, lane in enumerate(row.lanes):
        y = top + number * high
        for part in lane:
            x = along.place(part.began)
            width = max(LEAST_BAR, along.place(part.ended) - x)
            named = label(part, x, width, len(lane) == 1 and row.name != "call").format(y=y + LANE / 2 + 4) if high == LANE else ""
            drawn += (f'<g><title>{escape(tooltip(part))}</title><rect class="fill c{COLOURS[part.kind]}" x="{x:.1f}" y="{y + 0.1 * high:.1f}" '
                      f'width="{width:.1f}" height="{0.8 * high:.1f}" rx="{min(2.0, width / 2):.1f}"/></g>{named}\n')
    return drawn


def facts(timeline: CallTimeline) -> str:
    """Which call it is, in a line."""
    call, args = timeline.call, timeline.call.args
    blocks = next((part.bytes for part in reversed(timeline.parts) if part.kind == "phase" and part.bytes), 0) if "lltoall" in call.name else 0
    given = f"blocks of {format_size(blocks)}" if blocks else f"{format_size(args['bytes'])} given" if args.get("bytes") else ""
    ranks = f" of {args['communicator_size']}" if args.get("communicator_size") else ""
    kinds = [part.kind for part in timeline.parts]
    messages = ", ".join(f"{kinds.count(kind)} {kind}{'' if kinds.count(kind) == 1 else 's'}" for kind in ("send", "receive") if kind in kinds)
    because = f": {args['native_because']}" if args.get("native_because") else ""
    words = [f"{call.name} of rank {timeline.rank}{ranks}, call {timeline.number} of {timeline.calls}", given, f"{args.get('algorithm', '')}{because}", messages,
             "unfinished" if args.get("unfinished") else ""]
    return ", ".join(filter(None, words))


def draw_panel(timeline: CallTimeline, top: float, along: Scale) -> str:
    """Heading, grid, rows, and a line at the end of the call."""
    rows = rows_of(timeline)
    y, end = top + HEADING, along.place(timeline.duration)
    bottom = top + panel_height(rows)
    drawn = "".join(f'<line class="grid" x1="{along.place(time):.1f}" x2="{along.place(time):.1f}" y1="{y:.1f}" y2="{bottom:.1f}"/>' for time in time_ticks(along.high))
    drawn += (f'<text class="name" x="{LEFT:g}" y="{top + 14:.1f}">{escape(clipped(timeline.label, WIDTH - LEFT - 8))}</text>'
             f'<text x="{LEFT:g}" y="{top + 32:.1f}">{escape(clipped(facts(timeline), WIDTH - LEFT - 8))}</text>\n'
             f'<line class="end" x1="{end:.1f}" x2="{end:.1f}" y1="{y:.1f}" y2="{bottom:.1f}"/>'
             f'<rect class="call" x="{along.start:.1f}" y="{y:.1f}" width="{max(LEAST_BAR, end - along.start):.1f}" height="{rows[0].height:.1f}" rx="2"/>'
             f'<text class="name" x="{end + 6:.1f}" y="{y + LANE / 2 + 4:.1f}">{format_time_us(timeline.duration)} µs</text>\n')
    for row in rows:
        drawn += draw_row(row, y, along)
        y += row.height + ROW_GAP
    return drawn


def time_ticks(end: float) -> List[float]:
    """From 0 on in steps of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(end / MOST_TICKS))
    step = next(factor * power for factor in (1, 2, 5, 10, 20) if end / (factor * power) <= MOST_TICKS)
    return [step * number for number in range(int(end / step + 1e-9) + 1)]


def axis(along: Scale, bottom: float) -> str:
    """The times below the panels."""
    times = "".join(f'<text class="tick" x="{along.place(time):.1f}" y="{bottom + 14:.1f}" text-anchor="middle">{time:g}</text>' for time in time_ticks(along.high))
    return f'{times}<text class="axis" x="{(along.start + along.end) / 2:.1f}" y="{bottom + 34:.1f}" text-anchor="middle">µs since the call began</text>\n'


def legend(timelines: List[CallTimeline], top: float) -> str:
    """A key for every kind of bar that is there, and what the bars of work on its way mean."""
    kinds = {part.kind for one in timelines for part in one.parts}
    x, drawn = LEFT, ""
    for kind in (kind for kind in COLOURS if kind in kinds):
        drawn += f'<rect class="fill c{COLOURS[kind]}" x="{x:.1f}" y="{top:.1f}" width="12" height="12" rx="2"/><text x="{x + 18:.1f}" y="{top + 10:.1f}">{WORDS[kind]}</text>'
        x += 18 + LETTER * len(WORDS[kind]) + 20
    said = " ".join(words for words, of in NOTES if of & kinds) if kinds else "Nothing is known of what is inside these calls."
    return drawn + f'<text x="{LEFT:g}" y="{top + (30 if kinds else 10):.1f}">{said}</text>'


def draw_timelines(timelines: List[CallTimeline]) -> str:
    """The picture as an SVG file of its own, which follows the reader's light or dark mode."""
    along = Scale(0, max([SHORTEST, *(one.end for one in timelines)]), LEFT, WIDTH - RIGHT, True)
    panels, y = "", TOP
    for one in timelines:
        panels += draw_panel(one, y, along)
        y += panel_height(rows_of(one)) + PANEL_GAP
    bottom = y - PANEL_GAP
    height = bottom + AXIS + LEGEND
    caption = "; ".join(f"{one.label}: {facts(one)}, {format_time_us(one.duration)} µs" for one in timelines)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:g}" role="img"><title>{escape(caption)}</title>'
            f'<style>{CHART_STYLE}{STYLE}</style><rect width="{WIDTH:g}" height="{height:g}" style="fill: var(--card)"/>\n'
            f"{axis(along, bottom)}{panels}{legend(timelines, bottom + AXIS + 4)}\n</svg>\n")
