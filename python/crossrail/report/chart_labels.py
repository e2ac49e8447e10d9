"""Names at the ends of lines: as near to them as they can be without touching each other or leaving the picture."""

from typing import List

LABEL_DISTANCE = 15.0  # pixels between the base lines of two lines of text
LETTER = 7.0  # pixels of a letter at most, on average, at 12 px semi-bold
LONGEST = 26  # letters of a line of text


def name_lines(name: str) -> List[str]:
    """The name in one line or two; what is longer is cut, with an ellipsis."""
    lines: List[str] = []
    for word in name.split(" "):
        if lines and len(lines[-1]) + 1 + len(word) <= LONGEST:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    if len(lines) > 2:
        lines = [lines[0], " ".join(lines[1:])]
    return [line if len(line) <= LONGEST else line[:LONGEST - 1] + "…" for line in lines]


def names_width(names: List[str]) -> float:
    """The pixels that the longest line of text takes."""
    return LETTER * max(len(line) for name in names for line in name_lines(name))


def place_names(wanted: List[float], lines: List[int], top: float, bottom: float) -> List[float]:
    """The middles of the names, each as near to `wanted` (pixels from the top) as there is room between top and bottom.

    Their order is kept. Where they do not fit between top and bottom at all they begin at the top.
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    half = [LABEL_DISTANCE * lines[index] / 2 for index in range(len(wanted))]
    middles = list(wanted)
    edge = top
    for index in order:
        middles[index] = max(wanted[index], edge + half[index])
        edge = middles[index] + half[index]
    edge = max(bottom, top + 2 * sum(half))
    for index in reversed(order):
        middles[index] = min(middles[index], edge - half[index])
        edge = middles[index] - half[index]
    return middles
