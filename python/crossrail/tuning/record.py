"""The measurements of a tuning run in a file, a line of JSON each, so that an interrupted run can go on."""

import json
from pathlib import Path
from typing import Any, Dict

from crossrail.errors import CliError


class Record:
    """Lines {"key": ..., "value": ...}; the first one tells what is measured.

    Raises CliError where the file is there and `resume` is false, or where it tells of another run.
    """

    def __init__(self, path: Path, about: Dict[str, Any], resume: bool) -> None:
        self.path = path
        self.values: Dict[str, Any] = {}
        if path.exists() and not resume:
            raise CliError(f"{path} holds the measurements of an earlier run: go on with --resume, or remove it.")
        if path.exists():
            self.read()
        before = self.values.get("about", about)
        for name in about:
            if before.get(name) != about[name]:
                raise CliError(f"{path} is of another run: {name} was {before.get(name)!r}, now it is {about[name]!r}.")
        if "about" not in self.values:
            self.keep("about", about)

    def read(self) -> None:
        """Takes in what is there; half a last line, of a run that was killed, is cut off."""
        text = self.path.read_text()
        whole = text[:text.rfind("\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                one = json.loads(line)
                self.values[one["key"]] = one["value"]
            except (ValueError, KeyError, TypeError):
                raise CliError(f"{self.path}:{number}: this is no line of a measurement.") from None
        if whole != text:
            self.path.write_text(whole)

    def keep(self, key: str, value: Any) -> None:
        """Adds a line."""
        self.values[key] = value
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, "value": value}) + "\n")

    def get(self, key: str) -> Any:
        """What was kept under a key; None where nothing was."""
        return self.values.get(key)
