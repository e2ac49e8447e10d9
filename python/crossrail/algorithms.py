"""An algorithm with parameters, in the words that settings, tables and --algorithms take: 'node_shared packet=1K'."""

from typing import Dict, List, Tuple

from crossrail import core
from crossrail.errors import CliError, did_you_mean
from crossrail.sizes import parse_size


def compact(number: int) -> str:
    """1024 -> '1K', 1000 -> '1000': a size as tables and settings write it."""
    for unit, factor in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if number >= factor and number % factor == 0:
            return f"{number // factor}{unit}"
    return str(number)


def spec_of(name: str, parameters: Dict[str, int]) -> str:
    """An algorithm as CROSSRAIL_ALLTOALL takes it, the same words for the same parameters."""
    return " ".join([name, *(f"{key}={compact(value)}" for key, value in sorted(parameters.items()))])


def parse_spec(text: str) -> str:
    """The user's words for an algorithm, in the order of `spec_of`; raises CliError where a parameter is no name=size."""
    name, *parameters = text.split() or [""]
    if not all(word.count("=") == 1 for word in parameters):
        raise CliError(f"'{text}': parameters are written name=number, separated by blanks.")
    return spec_of(name, {word.partition("=")[0]: parse_size(word.partition("=")[2]) for word in parameters})


def split_spec(spec: str) -> Tuple[str, Dict[str, int]]:
    """'node_shared packet=1K' -> ('node_shared', {'packet': 1024})."""
    name, *words = spec.split()
    return name, {word.partition("=")[0]: parse_size(word.partition("=")[2]) for word in words}


def across_nodes(collective: str) -> List[str]:
    """The algorithms whose messages between nodes helper processes may share. They take device memory, too, on several nodes."""
    return [name for name in core.algorithm_names(collective) if any(one["name"] == "processes" for one in core.parameters(collective, name))]


def check_spec(collective: str, spec: str, memory: str = "host") -> None:
    """Raises CliError for an algorithm that the catalogue lacks for this memory, and for a parameter that it does not have."""
    name, given = split_spec(parse_spec(spec) or "''")
    known = core.algorithm_names(collective, memory)
    if memory == "device" and name in across_nodes(collective):
        known, memory = [name], "host"
    if name not in known:
        raise CliError(f"{collective} has no algorithm '{name}' for {memory} memory; it has {', '.join(known) or 'none'}.{did_you_mean(name, known)}")
    names = [one["name"] for one in core.parameters(collective, name, memory)]
    for parameter in given:
        if parameter not in names:
            raise CliError(f"{name} has no parameter '{parameter}'; it has {', '.join(names) or 'none'}.{did_you_mean(parameter, names)}")
