"""Things that last, in lanes of a picture or a trace."""

from typing import Any, List


def few_lanes(parts: List[Any]) -> List[List[Any]]:
    """As few lanes as let no part lie on another one. `parts`: with `began` and `ended`, in the order in which they began."""
    lanes: List[List[Any]] = []
    for part in parts:
        free = next((lane for lane in lanes if lane[-1].ended <= part.began), None)
        if free is None:
            lanes.append([part])
        else:
            free.append(part)
    return lanes
