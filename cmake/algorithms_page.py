"""algorithms_page.py ROOT: prints docs/algorithms.md, from the catalogues and the headers of the algorithms' files.

  python3 cmake/algorithms_page.py . >docs/algorithms.md       (tests/python/docs compares the two)
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List

FIELDS = ("What", "When", "Cost", "Needs", "From")
ROW = re.compile(r'^(ALGORITHM|PAPER_ALGORITHM|PARAMETER)\((\w+),\s*(.*?)\)$', re.M | re.S)
UNITS = {
    "bytes": "bytes", "row_bytes": "bytes of a rank's blocks together", "ranks": "ranks", "nodes": "nodes",
    "node_ranks": "ranks of a node", "processes": "processes of a rank"}

INTRODUCTION = """# Algorithms

Written by `cmake/algorithms_page.py` from the catalogues and from what each algorithm's file says of itself; a test compares them.

The tuning table says which one a call gets; `crossrail explain` shows that, and `crossrail tune` [measures them](tuning.md) on a machine. A setting names
one for all calls that it fits, `CROSSRAIL_ALLTOALL=pairwise` or `CROSSRAIL_ALLTOALL="node_shared packet=512"`
([settings](settings.md)); `native` is the MPI library's own. `crossrail list` is this page's tables on the terminal.

In costs, p is the number of ranks, N that of nodes and PPN that of a node's ranks; m are the bytes of a block (of a reduction: all bytes
of a rank), a is the latency of a message and b the time of a byte. Papers are named in full in [citing](citing.md). Other words are those of the
[glossary](glossary.md).
"""


@dataclass
class Parameter:
    """A number that an algorithm takes."""
    name: str
    default: str
    unit: str
    values: str
    help: str


@dataclass
class Algorithm:
    """A row of a catalogue, with the five paragraphs of its file."""
    name: str
    summary: str
    parameters: List[str]
    header: Dict[str, str] = field(default_factory=dict)
    of_papers: bool = False


def split_arguments(text: str) -> List[str]:
    """'a, (b, c), "d, e"' -> ['a', '(b, c)', '"d, e"']."""
    return [part.strip() for part in re.findall(r'(?:\([^)]*\)|"(?:[^"\\]|\\.)*"|[^,()"])+', text) if part.strip()]


def rows_of(path: Path):
    """What kind of row, its name, its other arguments; row by row, comments left out."""
    text = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("//"))
    for kind, name, rest in ROW.findall(text):
        yield kind, name, split_arguments(rest)


def number(text: str) -> str:
    """'32 * 1024' -> '32K'."""
    value = 1
    for factor in text.split("*"):
        value *= int(factor)
    for unit, size in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if value and value % size == 0:
            return f"{value // size}{unit}"
    return str(value)


def header_of(path: Path) -> Dict[str, str]:
    """The five fields of the comment with which an algorithm's file begins."""
    found: Dict[str, str] = {}
    name = ""
    for line in path.read_text().splitlines():
        if not line.startswith("//"):
            break
        text = line[2:].strip()
        word, _, rest = text.partition(" ")
        if word in FIELDS and line.startswith(f"// {word}"):
            name, text = word, rest.strip()
        if not name:
            raise ValueError(f"{path}: the first comment has to begin with 'What'")
        found[name] = f"{found[name]} {text}" if name in found else text
    if tuple(found) != FIELDS:
        raise ValueError(f"{path}: the first comment has {', '.join(found)} instead of {', '.join(FIELDS)}")
    return found


def read_catalogue(folder: Path) -> List[Algorithm]:
    """The algorithms of a folder of src/collectives."""
    return [Algorithm(name, arguments[0].strip('"'), arguments[1:], header_of(folder / f"{name}.cpp"), kind == "PAPER_ALGORITHM")
            for kind, name, arguments in rows_of(folder / "catalog.def") if kind != "PARAMETER"]


def parameter_of(name: str, arguments: List[str]) -> Parameter:
    """A row PARAMETER(name, default, unit, (values), help)."""
    default, unit, values, text = arguments
    worth = ", ".join(number(value) for value in values.strip("()").split(",") if value.strip())
    return Parameter(name, number(default), UNITS[unit], worth, text.strip('"'))


def cell(text: str) -> str:
    """For a table, or a line, of Markdown: nothing of it is markup but code in backquotes."""
    return re.sub(r"[|*<>]", r"\\\g<0>", text)


def section(algorithm: Algorithm, setting: str, known: Dict[str, Parameter]) -> List[str]:
    """An algorithm's part of the page."""
    lines = [f"### {algorithm.name}", "", f"`{setting}={algorithm.name}`: {cell(algorithm.summary)}.", ""]
    if algorithm.of_papers:
        lines += ["It is there to be compared with, and built with the CMake option `CROSSRAIL_PAPER_ROWS` only.", ""]
    for name, words in algorithm.header.items():
        lines.append(f"- **{name}:** {cell(words)}")
    if algorithm.parameters:
        lines += ["", "| parameter | default | in | worth trying | what it is |", "|---|--:|---|---|---|"]
        for parameter in (known[name] for name in algorithm.parameters):
            lines.append(f"| `{parameter.name}` | {parameter.default} | {parameter.unit} | {parameter.values or '-'} | {cell(parameter.help)} |")
    return [*lines, ""]


def parameters_of(collectives: Path) -> Dict[str, Parameter]:
    """All parameters, by name: wherever one is declared, others may take it."""
    files = [collectives / "parameters.def", *sorted(collectives.glob("*/catalog.def"))]
    return {name: parameter_of(name, arguments) for file in files for kind, name, arguments in rows_of(file) if kind == "PARAMETER"}


def collectives_of(root: Path) -> Dict[str, List[str]]:
    """The collectives, and of each its setting and MPI's calls, in the order of collectives.def."""
    text = (root / "src/collectives/collectives.def").read_text()
    found = re.findall(r"^COLLECTIVE\((\w+),(.*?)\)$", text, re.M | re.S)
    return {name: re.findall(r'"(\w+)"', rest) for name, rest in found}


def page(root: Path) -> str:
    """docs/algorithms.md."""
    folder = root / "src/collectives"
    known = parameters_of(folder)
    lines = INTRODUCTION.splitlines() + [""]
    for collective, (setting, *calls) in collectives_of(root).items():
        for suffix, memory in (("", "host memory"), ("_device", "device memory")):
            if not (folder / (collective + suffix)).is_dir():
                continue
            lines += [f"## {collective}, {memory}", "", f"{', '.join(f'`{call}`' for call in calls)}.", ""]
            for algorithm in read_catalogue(folder / (collective + suffix)):
                lines += section(algorithm, setting, known)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.stdout.write(page(Path(sys.argv[1])))
