"""The files that commands read: text, and JSON that does no harm where it is shown or added up."""

import json
import math
from pathlib import Path
from typing import Any

from crossrail.errors import CliError

INSTEAD = "\N{REPLACEMENT CHARACTER}"


def read_text(path: Path) -> str:
    """Raises CliError where that cannot be."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CliError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise CliError(f"{path} cannot be read: it is no text in UTF-8.") from None


def printable(text: str) -> str:
    """The text in one line, without what terminals take for commands."""
    return text if text.isprintable() else "".join(one if one.isprintable() else " " if one.isspace() else INSTEAD for one in text)


def harmless(value: Any) -> Any:
    """The value with printable texts. Raises ValueError for numbers that are none, or without end."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, list):
        return [harmless(one) for one in value]
    if isinstance(value, dict):
        return {printable(name): harmless(one) for name, one in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is no number")
    return value


def parse_json(text: str) -> Any:
    """JSON, made harmless. Raises ValueError for what is none, or nested deeper than can be read."""
    try:
        return harmless(json.loads(text))
    except RecursionError:
        raise ValueError("nested too deep") from None
