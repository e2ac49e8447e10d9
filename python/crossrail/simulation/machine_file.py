"""This module reads a machine file (machines/*.toml) and refuses nonsense with a sentence that names the file, the line and the key."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from crossrail.errors import CliError, did_you_mean
from crossrail.places import data_folder
from crossrail.simulation.machine_keys import BEST, HIGH, KEYS, KINDS, LOW, MOST_NODES, MOST_RANKS_OF_A_NODE, NONE, NOTES, TOP, Sort
from crossrail.simulation.toml_lines import TomlFile
from crossrail.sizes import parse_ranges

Ends = Tuple[float, float]  # These are the low and the high end; both are the same for a number.


@dataclass(frozen=True)
class Machine:
    """Has what a machine file says. `values` has both ends of every key, such as 'memory.copy'; `kind` is rc, ud, dc or best."""

    file: Path
    name: str
    about: str
    ranks_per_node: int
    values: Dict[str, Ends]
    kind: str
    nodes: Tuple[int, ...] = ()
    sizes: Optional[str] = None

    @property
    def has_ranges(self) -> bool:
        """Returns whether a value is a range, so that there are two cases."""
        return any(low != high for low, high in self.values.values())

    def case(self, favourable: bool) -> Dict[str, float]:
        """Returns the number of every key, with the ends of all ranges that make messages fast, or slow."""
        chosen = {}
        for name, ends in self.values.items():
            section, key = name.split(".")
            wants_high = (KEYS[section][key].favourable == HIGH) == favourable
            chosen[name] = max(ends) if wants_high else min(ends)
        return chosen


def machines_folder() -> Optional[Path]:
    """Returns the folder of the machines that come with crossrail, or None if there is none."""
    data = data_folder()
    return data / "machines" if data and (data / "machines").is_dir() else None


def machine_names() -> List[str]:
    """Returns the names of the machines that come with crossrail."""
    folder = machines_folder()
    return sorted(path.stem for path in folder.glob("*.toml")) if folder else []


def machine_path(word: str) -> Path:
    """Returns the file of a machine: a path, or the name of a machine that comes with crossrail. Raises CliError if there is neither."""
    if "/" in word or word.endswith(".toml") or Path(word).is_file():
        return Path(word)
    folder = machines_folder()
    if not folder or word not in machine_names():
        known = ", ".join(machine_names()) or "none"
        raise CliError(f"There is no machine '{word}' here; there are {known}. A file is named by its path.{did_you_mean(word, machine_names())}")
    return folder / f"{word}.toml"


def is_number(value: Any) -> bool:
    """Returns whether a value is a number. A flag of TOML is one, too, for Python, but not here."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Reader:
    """Reads one file, key by key."""

    def __init__(self, path: Path) -> None:
        self.file = TomlFile(path)
        self.content = self.file.content

    def number(self, name: str, value: Any, sort: Sort) -> float:
        """Returns one number. Raises CliError if it is none, or not of this sort."""
        if isinstance(value, bool) and sort.words == "0 or 1":
            return float(value)
        if not is_number(value):
            raise self.file.error(name, f"{name} is no number, but it is {sort.words}.")
        if not sort.fits(value):
            raise self.file.error(name, f"{name} is {value}, but it is {sort.words}.")
        return float(value)

    def ends(self, name: str, value: Any, sort: Sort) -> Ends:
        """Returns both ends of a value. Raises CliError for a range that is none, or that is not allowed here."""
        if not isinstance(value, dict):
            number = self.number(name, value, sort)
            return number, number
        strange = [key for key in value if key not in (LOW, HIGH, "value", *NOTES)]
        if strange:
            raise self.file.error(name, f"{name} has '{strange[0]}', but a range has low and high.")
        if set(value) - set(NOTES) == {"value"}:
            return self.ends(name, value["value"], sort)
        if set(value) - set(NOTES) != {LOW, HIGH}:
            raise self.file.error(name, f"{name} is no range: a range has low and high, and nothing else.")
        if sort.favourable == NONE:
            raise self.file.error(name, f"{name} takes no range: it is not clear which end would be favourable.")
        low, high = self.number(name, value[LOW], sort), self.number(name, value[HIGH], sort)
        if low > high:
            raise self.file.error(name, f"{name} has low = {value[LOW]}, which is more than high = {value[HIGH]}.")
        return low, high

    def section(self, section: str) -> Dict[str, Ends]:
        """Returns the values of one section. Raises CliError if a key is missing or unknown."""
        given, known = self.content.get(section), KEYS[section]
        if given is None:
            raise self.file.error(section, f"there is no section [{section}], so {section}.{next(iter(known))} is missing.")
        if not isinstance(given, dict):
            raise self.file.error(section, f"'{section}' is no section: write [{section}] and its keys below it.")
        allowed = [*known, "kind"] if section == "transport" else list(known)
        for key in given:
            if key not in allowed:
                raise self.file.error(f"{section}.{key}", f"there is no key {section}.{key}.{did_you_mean(key, allowed)}")
        missing = [key for key in allowed if key not in given]
        if missing:
            raise self.file.error(section, f"[{section}] has no '{missing[0]}', so {section}.{missing[0]} is missing.")
        return {f"{section}.{key}": self.ends(f"{section}.{key}", given[key], sort) for key, sort in known.items()}

    def text(self, name: str) -> str:
        """Returns a text of the top of the file. Raises CliError if it is missing, empty or no text."""
        value = self.content.get(name)
        if not isinstance(value, str) or not value.strip():
            raise self.file.error(name, f"'{name}' is {'missing' if value is None else 'no text'}: write {name} = \"...\" at the top.")
        return value

    def whole(self, name: str, value: Any, most: int) -> int:
        """Returns a whole number from 1 to `most`. Raises CliError for anything else."""
        if value is None:
            raise self.file.error(name, f"'{name}' is missing: write {name} = 56, or whatever it is, at the top.")
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise self.file.error(name, f"'{name}' is {value}, but it is a whole number from 1 to {most}.")
        return value

    def nodes(self) -> Tuple[int, ...]:
        """Returns the numbers of nodes that are simulated if the user names none. Raises CliError if the list has something else."""
        given = self.content.get("nodes", [])
        if not isinstance(given, list):
            raise self.file.error("nodes", "'nodes' is no list: write nodes = [2, 4, 8].")
        return tuple(self.whole("nodes", one, MOST_NODES) for one in given)

    def sizes(self) -> Optional[str]:
        """Returns the sizes that are simulated if the user names none, in the words of --sizes. Raises CliError if they are none."""
        given = self.content.get("sizes")
        if given is None:
            return None
        try:
            parse_ranges(given)
        except (CliError, AttributeError) as error:
            why = str(error) if isinstance(error, CliError) else "it is no text."
            raise self.file.error("sizes", f"'sizes' says no sizes, such as \"8-512\": {why}") from None
        return str(given)

    def kind(self) -> str:
        """Returns the kind of transport. Raises CliError for a word that is none."""
        word = self.content["transport"]["kind"]
        if word not in (*KINDS, BEST):
            near = did_you_mean(word, (*KINDS, BEST)) if isinstance(word, str) else ""
            raise self.file.error("transport.kind", f"transport.kind is '{word}', but it is one of {', '.join(KINDS)} and {BEST}.{near}")
        return str(word)

    def check_sense(self, values: Dict[str, Ends]) -> None:
        """Raises CliError if values contradict each other."""
        for less, more in (("memory.core_bandwidth", "memory.node_bandwidth"), ("adapters.cached", "adapters.queue_pairs")):
            if values[less][1] > values[more][0]:
                raise self.file.error(less, f"{less} is {values[less][1]:g}, which is more than {more}, {values[more][0]:g}.")

    def machine(self) -> Machine:
        """Returns the whole machine. Raises CliError for the first thing that is wrong."""
        for key in self.content:
            if key not in (*TOP, *KEYS):
                near = did_you_mean(key, (*TOP, *KEYS))
                raise self.file.error(key, f"there is no {'section' if isinstance(self.content[key], dict) else 'key'} '{key}'.{near}")
        name, about = self.text("name"), self.text("about")
        ranks = self.whole("ranks_per_node", self.content.get("ranks_per_node"), MOST_RANKS_OF_A_NODE)
        values: Dict[str, Ends] = {}
        for section in KEYS:
            values.update(self.section(section))
        self.check_sense(values)
        return Machine(self.file.path, name, about, ranks, values, self.kind(), self.nodes(), self.sizes())


def read_machine(path: Path) -> Machine:
    """Reads a machine file. Raises CliError if it cannot be read or says nonsense."""
    return Reader(path).machine()
