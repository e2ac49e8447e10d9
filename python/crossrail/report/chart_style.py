"""Colours, marks and dashes of the pages: ten colours that are told apart in light and dark mode, each with a mark of its own."""

from typing import List

# Crossrail, native MPI, then eight others; each has a contrast of 3 at least against the card it is drawn on.
LIGHT = ("#1f6fd0", "#d4501a", "#12875f", "#a87400", "#d6569b", "#5a34b8", "#0092a6", "#6b7f12", "#6f6f6f", "#7a2f1f")
DARK = ("#5aa2f5", "#f0743c", "#2fbf8a", "#e0aa2a", "#f28cc0", "#a893ff", "#3cc7dc", "#b3c94a", "#a8a8a8", "#c98a6a")
COLOURS = len(LIGHT)
OTHERS = 8  # colours that are not crossrail's or native MPI's
DASHES = ("", "7 3", "2 3")  # of the first eight others, of the next eight, of those after them
MARKS = ("circle", "square", "triangle", "diamond", "down", "plus", "cross", "bar", "pentagon", "star")


def colour_of(name: str, index: int) -> int:
    """The number of a line's style. Crossrail ('auto') and native MPI keep theirs on every page; `index` counts the others from 0."""
    return {"auto": 0, "native": 1}.get(name, 2 + index)


def colour_number(style: int) -> int:
    """0 to 9: which of the colours, and of the marks."""
    return style if style < 2 else 2 + (style - 2) % OTHERS


def dash_of(style: int) -> str:
    """The dashes of a line as SVG takes them, '' for a full line."""
    return DASHES[(style - 2) // OTHERS % len(DASHES)] if style >= 2 else ""


def mark_path(style: int, x: float, y: float, size: float = 4.0) -> str:
    """The path of the mark of a style around x, y (pixels)."""
    kind, s = MARKS[colour_number(style)], size
    corners = {"square": [(-.85, -.85), (.85, -.85), (.85, .85), (-.85, .85)], "triangle": [(0, -1.15), (1.05, .8), (-1.05, .8)],
               "diamond": [(0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)], "down": [(0, 1.15), (1.05, -.8), (-1.05, -.8)],
               "plus": [(-.4, -1.2), (.4, -1.2), (.4, -.4), (1.2, -.4), (1.2, .4), (.4, .4), (.4, 1.2), (-.4, 1.2), (-.4, .4), (-1.2, .4), (-1.2, -.4), (-.4, -.4)],
               "cross": [(-1.1, -.6), (-.6, -1.1), (0, -.5), (.6, -1.1), (1.1, -.6), (.5, 0), (1.1, .6), (.6, 1.1), (0, .5), (-.6, 1.1), (-1.1, .6), (-.5, 0)],
               "bar": [(-.45, -1.3), (.45, -1.3), (.45, 1.3), (-.45, 1.3)],
               "pentagon": [(0, -1.15), (1.1, -.35), (.7, .95), (-.7, .95), (-1.1, -.35)],
               "star": [(0, -1.4), (.4, -.45), (1.35, -.45), (.6, .2), (.85, 1.2), (0, .6), (-.85, 1.2), (-.6, .2), (-1.35, -.45), (-.4, -.45)]}
    if kind == "circle":
        return f"M{x - s:.1f} {y:.1f}a{s:g} {s:g} 0 1 0 {2 * s:g} 0a{s:g} {s:g} 0 1 0 {-2 * s:g} 0Z"
    return "M" + "L".join(f"{x + dx * s:.1f} {y + dy * s:.1f}" for dx, dy in corners[kind]) + "Z"


def key(style: int) -> str:
    """The mark by itself, for a legend or the heading of a column; 12 pixels wide."""
    return f'<svg class="key" viewBox="0 0 12 12" aria-hidden="true"><path class="point c{colour_number(style)}" d="{mark_path(style, 6, 6, 4)}"/></svg>'


def variables(colours: tuple) -> str:
    """The colours as CSS variables."""
    return " ".join(f"--c{number}: {colour};" for number, colour in enumerate(colours))


def colour_rules() -> List[str]:
    """The rules for the lines, bands, marks and bars of every colour."""
    return [f".line.c{n}, .leader.c{n} {{ stroke: var(--c{n}); }} .point.c{n}, .band.c{n}, .fill.c{n} {{ fill: var(--c{n}); }} "
            f".bar.c{n} {{ background: var(--c{n}); }}\n" for n in range(COLOURS)]


# Of the drawing itself, with the colours that a page may use as well.
CHART_STYLE = f"""
:root {{ color-scheme: light dark; --ground: #fcfcfb; --card: #fff; --ink: #0b0b0b; --faint: #52514e; --line: #dddcd4; --bad: #c0262d; --link: #1f5fb8;
  {variables(LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ --ground: #121211; --card: #1a1a19; --ink: #fff; --faint: #c3c2b7; --line: #3a3a37; --bad: #ff7b7b;
  --link: #8ab8ff; {variables(DARK)} }} }}
svg text {{ font: 12px system-ui, sans-serif; fill: var(--faint); }} svg .name {{ fill: var(--ink); font-weight: 600; }}
.grid {{ stroke: var(--line); }} .grid.minor {{ stroke-opacity: .45; }} .reference {{ stroke: var(--faint); stroke-dasharray: 4 4; }}
.line {{ fill: none; stroke-width: 1.5; stroke-linejoin: round; }} .line.c1 {{ stroke-width: 2.5; }} .line.c0 {{ stroke-width: 3.5; }}
.point {{ stroke: var(--card); stroke-width: 1; }} .hit {{ fill: transparent; stroke: none; }} .band {{ fill-opacity: .16; stroke: none; }}
.leader {{ fill: none; stroke-width: 1; stroke-opacity: .6; }} .series .asked {{ visibility: hidden; }}
""" + "".join(colour_rules())
