"""TOML with line numbers: the parser of Python's library, and the lines on which keys stand, which that parser does not tell."""

import re
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from crossrail.errors import CliError
from crossrail.inputs import printable, read_text

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11
    try:
        import tomli as tomllib  # type: ignore[no-redef]
    except ModuleNotFoundError:
        tomllib = None  # type: ignore[assignment]

HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?$")
ASSIGNED = re.compile(r"\s*([A-Za-z0-9_.\-\"' ]+?)\s*=")
AT_LINE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)\s*$")


def plain(name: str) -> str:
    """Returns a key without quotes and blanks: 'memory . "copy"' becomes 'memory.copy'."""
    return re.sub(r"[\s\"']", "", name)


def lines_of_keys(text: str) -> Dict[str, int]:
    """Returns the line of every key and section by its full name, such as 'memory.copy' and 'memory'; lines count from 1."""
    found: Dict[str, int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        header, assigned = HEADER.match(line), ASSIGNED.match(line)
        if header:
            section = plain(header.group(1))
            found.setdefault(section, number)
        elif assigned:
            name = plain(assigned.group(1))
            found.setdefault(f"{section}.{name}" if section else name, number)
    return found


class TomlFile:
    """Has the content of a file, and makes errors that name the file and the line of a key."""

    def __init__(self, path: Path) -> None:
        self.path = path
        text = read_text(path)
        self.lines = lines_of_keys(text)
        self.content = self.parsed(text)

    def parsed(self, text: str) -> Dict[str, Any]:
        """Returns the content. Raises CliError if it is no TOML, or nothing here can read TOML."""
        if tomllib is None:
            raise CliError("Machine files are TOML, which Python reads from version 3.11 on: use a newer Python, or install the package tomli.")
        try:
            return tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            sentence, line = self.what_is_wrong(str(error), text.count("\n") + 1)
            raise CliError(f"{self.path}, line {line}: {printable(sentence)}.") from None

    @staticmethod
    def what_is_wrong(said: str, last: int) -> Tuple[str, int]:
        """Returns the parser's sentence without its place, and the line; `last` is that of the end of the file."""
        place = AT_LINE.search(said)
        sentence = AT_LINE.sub("", said).rstrip(".")
        return f"it is no TOML ({sentence[:1].lower()}{sentence[1:]})", int(place.group(1)) if place and place.group(1) else last

    def error(self, name: str, sentence: str) -> CliError:
        """Returns the error about a key, or about the section that lacks it."""
        parts = name.split(".")
        known: List[Optional[int]] = [self.lines.get(".".join(parts[:count])) for count in range(len(parts), 0, -1)]
        line = next((one for one in known if one), 1)
        return CliError(printable(f"{self.path}, line {line}: {sentence}"))
