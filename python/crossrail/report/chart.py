"""What a line chart over block sizes shows, and where it lies: scales, ticks, the frame."""

import math
from dataclasses import dataclass, field
from typing import List, Optional, Tuple

from crossrail.sizes import format_size, format_time_us

MOST_SIZES = 12  # labels on the axis of sizes, where there is room
BAND_REACH = 100.0  # bands stretch the axis by this factor beyond the medians at most


@dataclass
class Series:
    """A line: its name, the number of its style, points (bytes > 0, value > 0), and the band around it as (bytes, low, high).

    `seen`: the band is always drawn, not only under the pointer, as those of crossrail and native MPI are.
    """

    name: str
    colour: int
    points: List[Tuple[float, float]]
    band: List[Tuple[float, float, float]] = field(default_factory=list)
    seen: bool = False

    @property
    def band_seen(self) -> bool:
        """Whether its band is always drawn."""
        return self.seen or self.colour < 2


@dataclass
class Chart:
    """Both axes are logarithmic, but that of the values where they go from 0 to `linear_to`.

    `unit` follows values in tooltips (' µs' also scales the ticks to ms and s); `reference` draws a line at that value; `bands` says what they are,
    `size_label` what sizes are; with `numbers` they are no bytes.
    """

    caption: str
    value_label: str
    unit: str
    series: List[Series] = field(default_factory=list)
    reference: Optional[float] = None
    linear_to: Optional[float] = None
    bands: str = ""
    size_label: str = "bytes from each rank to each other"
    numbers: bool = False

    def size_text(self, size: float) -> str:
        """A size in words: '1 KiB', or a number."""
        return f"{size:g}" if self.numbers else format_size(size)


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


@dataclass(frozen=True)
class Frame:
    """The picture in pixels: its size and the margins around the plot. Names stand right of the lines where `named`."""

    width: float
    height: float
    left: float
    right: float
    named: bool
    top: float = 16
    bottom: float = 48

    @property
    def plot_right(self) -> float:
        """Where the plot ends."""
        return self.width - self.right

    @property
    def plot_bottom(self) -> float:
        """Where the axis of sizes lies."""
        return self.height - self.bottom


def size_ticks(low: float, high: float, most: int = MOST_SIZES) -> Tuple[List[float], List[float]]:
    """Powers of two within low..high: those with a label (at most `most`, evenly apart, 1 KiB and 1 MiB among them), and all."""
    every = list(range(math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9) + 1))
    for stride in (1, 2, 5, 10, 20):
        labelled = [power for power in every if power % stride == 0]
        if len(labelled) <= most:
            break
    if not labelled:
        return [low, high] if high > low else [low], []
    return [2.0**power for power in labelled], [2.0**power for power in every]


def value_ticks(low: float, high: float) -> Tuple[List[float], List[float]]:
    """1, 2, 5 times powers of ten covering low..high with a label (only 1 where there would be many), and all of 1 to 9."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if last - first <= 2 else (1,)
    ticks = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    below = max((tick for tick in ticks if tick <= low * 1.0001), default=low)
    above = min((tick for tick in ticks if tick >= high * 0.9999), default=high)
    major = [tick for tick in ticks if below <= tick <= above]
    if len(major) < 2:
        major = [low / 2, *major, high * 2]
    minor = [step * 10.0**power for power in range(first - 1, last + 1) for step in range(1, 10)]
    return major, [tick for tick in minor if major[0] < tick < major[-1]]


def value_range(chart: Chart) -> Tuple[float, float]:
    """What the axis of values must cover: the medians, and of the bands that are always drawn what lies near them."""
    values = [value for series in chart.series for _, value in series.points]
    values += [chart.reference] if chart.reference else []
    low, high = min(values), max(values)
    bands = [series.band for series in chart.series if series.band_seen]
    lows = [below for band in bands for _, below, _ in band if below > 0]
    highs = [above for band in bands for _, _, above in band]
    return max(min([low, *lows]), low / BAND_REACH), min(max([high, *highs]), high * BAND_REACH)


def across(chart: Chart, frame: Frame) -> Scale:
    """The scale of the sizes."""
    sizes = [size for series in chart.series for size, _ in series.points]
    return Scale(min(sizes), max(sizes), frame.left, frame.plot_right)


def up(chart: Chart, frame: Frame) -> Tuple[Scale, List[float], List[float]]:
    """The scale of the values, its ticks with a label, and those without."""
    if chart.linear_to:
        return Scale(0, chart.linear_to, frame.plot_bottom, frame.top, True), [part * chart.linear_to / 5 for part in range(6)], []
    major, minor = value_ticks(*value_range(chart))
    return Scale(major[0], major[-1], frame.plot_bottom, frame.top), major, minor


def format_tick(value: float, unit: str) -> str:
    """'20 µs', '5 ms', '2×', '40 %'."""
    if unit == " µs":
        for factor, name in ((1e6, "s"), (1e3, "ms")):
            if value >= factor:
                return f"{value / factor:g} {name}"
    return f"{value:.3g}{unit or '×'}"


def format_value(value: float, unit: str) -> str:
    """The value of a point as its tooltip says it."""
    return format_time_us(value) + unit if unit else f"{value:.2f}×"
