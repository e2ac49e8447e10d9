"""The measurements of a tuning run in a file, a line of JSON each, so that an interrupted run can go on."""

import json
from pathlib import Path
from typing import Any, Dict

from crossrail.errors import CliError
from crossrail.inputs import parse_json, read_text
from crossrail.outputs import write_file


class Record:
    """Lines {"key": ..., "value": ...}; the first one tells what is measured. The file is made with the first measurement.

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
        self.about = {} if "about" in self.values else {"about": about}

    def read(self) -> None:
        """Takes in what is there; half a last line, of a run that was killed, is cut off."""
        text = read_text(self.path)
        whole = text[:text.rfind("\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                one = parse_json(line)
                self.values[one["key"]] = one["value"]
            except (ValueError, KeyError, TypeError):
                raise CliError(f"{self.path}:{number}: this is no line of a measurement.") from None
        if whole != text:
            write_file(self.path, whole)

    def keep(self, key: str, value: Any) -> None:
        """Adds a line."""
        new = {**self.about, key: value}
        self.about = {}
        self.values.update(new)
        with open(self.path, "a", encoding="utf-8") as file:
            file.writelines(json.dumps({"key": name, "value": one}) + "\n" for name, one in new.items())

    def get(self, key: str) -> Any:
        """What was kept under a key; None where nothing was."""
        return self.values.get(key)
