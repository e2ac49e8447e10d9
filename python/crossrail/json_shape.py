"""Whether JSON from a file is what is expected: the types of its parts.

A shape is a type (float takes whole numbers too, object everything), Count, Amount or Positive, a tuple of texts for one of them, `[shape]` for a list of such,
`{name: shape}` for an object, where a name that ends in '?' may be missing, and `{str: shape}` for an object with any names. Names that are not in the shape
are let be.
"""

from typing import Any


class Count(int):
    """In a shape: a whole number, 0 or more."""


class Amount(float):
    """In a shape: a number, 0 or more."""


class Positive(float):
    """In a shape: a number above 0."""


WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", list: "a list", dict: "an object",
         Count: "a whole number, 0 or more", Amount: "a number, 0 or more", Positive: "a number above 0"}
LARGEST = 1 << 64  # no number that crossrail writes is as large, and sums of those are numbers


def is_a(value: Any, kind: type) -> bool:
    """True is no number, though Python has it so."""
    if kind is object:
        return True
    if kind in (Count, Amount, Positive):
        return is_a(value, kind.__base__) and (value > 0 if kind is Positive else value >= 0)
    if isinstance(value, bool):
        return kind is bool
    if isinstance(value, (int, float)) and abs(value) >= LARGEST:
        return False
    return isinstance(value, (int, float) if kind is float else kind)


def misfit(value: Any, shape: Any, place: str = "it") -> str:
    """'calls[0].name is not a text' for the first part that is not as the shape has it; empty where all are."""
    if isinstance(shape, tuple):
        return "" if value in shape else f"{place} is none of {', '.join(shape)}"
    kind = dict if isinstance(shape, dict) else list if isinstance(shape, list) else shape
    if not is_a(value, kind):
        return f"{place} is not {WORDS[kind]}"
    if isinstance(shape, list):
        inner = [(f"{place}[{number}]", one, shape[0]) for number, one in enumerate(value)]
    elif isinstance(shape, dict) and str in shape:
        inner = [(f"{place}.{name}", one, shape[str]) for name, one in value.items()]
    elif isinstance(shape, dict):
        missing = [name for name in shape if not name.endswith("?") and name not in value]
        if missing:
            return f"{place} has no '{missing[0]}'"
        known = {name.rstrip("?"): one for name, one in shape.items()}
        prefix = "" if place == "it" else f"{place}."
        inner = [(prefix + name, value[name], one) for name, one in known.items() if name in value]
    else:
        return ""
    return next(filter(None, (misfit(one, its, where) for where, one, its in inner)), "")
