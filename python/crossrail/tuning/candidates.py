"""What is tried when a table is tuned: the algorithms that fit, with the parameters worth trying."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from crossrail import core
from crossrail.algorithms import across_nodes, check_spec, parse_spec, spec_of, split_spec
from crossrail.collectives import find


@dataclass
class Layout:
    """Where the ranks of a measured communicator are, in blocks; `ranks_per_node` is that of the largest node.

    `memory`: where their data are, host or device. `mpi`: the short name of the MPI library, openmpi4.1.6. `processes`: how many of a rank
    share long messages, itself among them: the numbers to be tried.
    """

    ranks: int
    nodes: int
    ranks_per_node: int
    memory: str = "host"
    mpi: str = ""
    processes: Tuple[int, ...] = (1,)

    @property
    def catalogue(self) -> str:
        """The memory by which the catalogue has the algorithms: between nodes, those for host memory move device memory, too."""
        return "host" if self.nodes > 1 else self.memory

    @property
    def node_of(self) -> List[int]:
        """The node of every rank."""
        return [rank * self.nodes // self.ranks for rank in range(self.ranks)]

    @property
    def limits(self) -> Dict[str, int]:
        """Units of parameters of which there are only so many: larger values do the same."""
        return {"processes": max(self.processes), "ranks": self.ranks, "nodes": self.nodes, "node_ranks": min(Counter(self.node_of).values())}


def parse_algorithms(collective: str, text: str, memory: str = "host") -> List[str]:
    """The algorithms of --algorithms; raises CliError for one that the catalogue lacks for this memory."""
    specs = [parse_spec(word) for word in text.split(",") if word.strip() and word.strip() not in ("native", "auto")]
    for spec in specs:
        check_spec(collective, spec, memory)
    return specs


def algorithms_for(collective: str, layout: Layout) -> List[str]:
    """The algorithms for the layout's memory; for device memory of several nodes, those that take it there."""
    if layout.memory == "device" and layout.nodes > 1:
        return across_nodes(collective)
    return core.algorithm_names(collective, layout.memory)


def defaults(collective: str, memory: str, name: str) -> Dict[str, int]:
    """The parameters of an algorithm with their defaults."""
    return {one["name"]: one["default"] for one in core.parameters(collective, name, memory)}


def short(collective: str, memory: str, name: str, given: Dict[str, int]) -> str:
    """An algorithm with its parameters, but for those that have their defaults."""
    usual = defaults(collective, memory, name)
    return spec_of(name, {parameter: value for parameter, value in given.items() if usual.get(parameter) != value})


def short_mpi(collective: str, said: str) -> str:
    """The short name of an MPI library for what it says of itself: 'Open MPI v4.1.6, ...' -> 'openmpi4.1.6'."""
    return core.explain(core.Question(collective, 1, [0, 0], mpi=said)).get("mpi", "")


def answer_for(collective: str, layout: Layout, block: int) -> Dict:
    """What the library says about a call."""
    return core.explain(core.Question(collective, block, layout.node_of, memory=layout.memory, mpi=layout.mpi))


def chosen_now(collective: str, layout: Layout, block: int, ran: Optional[str] = None) -> str:
    """What the table in force chooses; the setting of an algorithm, if there is one, does not count.

    `ran`: the algorithm seen to run, where it is not the first that should fit. Where device memory goes through host
    memory, that is one for host memory, and tables say native.
    """
    if ran and layout.memory == "device" and ran not in algorithms_for(collective, layout):
        ran = "native"
    found = [one for one in answer_for(collective, layout, block)["candidates"] if one["origin"] != "setting"]
    found = [one for one in found if ran in (None, one["algorithm"])] or [{"algorithm": ran}]
    return short(collective, layout.catalogue, found[0]["algorithm"], found[0].get("parameters", {}))


def fitting(collective: str, layout: Layout, block: int) -> List[str]:
    """The algorithms of the catalogue that fit."""
    unfit = {one["algorithm"] for one in answer_for(collective, layout, block)["passed_over"] if one["why"].startswith("does not fit")}
    return [name for name in algorithms_for(collective, layout) if name not in unfit]


def worth_trying(layout: Layout, parameter: Dict[str, Any]) -> List[int]:
    """The values of a parameter that are tried; of processes those there are."""
    return list(layout.processes) if parameter["unit"] == "processes" else parameter["values"]


def variants(collective: str, layout: Layout, name: str, now: str) -> List[str]:
    """An algorithm, and with one parameter at a time at each value worth trying.

    Other parameters are those of `now`, what the table in force chooses, where that is this algorithm.
    """
    chosen, given = split_spec(now)
    base = given if chosen == name else {}
    changed = [{**base, one["name"]: value} for one in core.parameters(collective, name, layout.catalogue) for value in worth_trying(layout, one)]
    return list(dict.fromkeys(short(collective, layout.catalogue, name, parameters) for parameters in [base, *changed]))


def effect(collective: str, layout: Layout, spec: str, block: int) -> str:
    """What an algorithm with parameters does at a size: the same text, the same doing. Units say what counts of a value."""
    name, given = split_spec(spec)
    known = find(collective)
    doing: Dict[str, int] = {}
    for one in core.parameters(collective, name, layout.catalogue):
        value = given.get(one["name"], one["default"])
        if one["unit"] in layout.limits:
            value = max(1, min(value, layout.limits[one["unit"]]))
        elif one["unit"] == "row_bytes" and known and known.knows_sizes:
            value = int(block * layout.ranks <= value)
        doing[one["name"]] = value
    return spec_of(name, doing)


def candidates(collective: str, layout: Layout, block: int, wanted: Optional[List[str]] = None) -> List[str]:
    """What to try at a size, besides 'native' and 'auto': of those that do the same, the first.

    `wanted` limits it to its algorithms; parameters given there are taken as they are.
    """
    names, now = fitting(collective, layout, block), chosen_now(collective, layout, block)
    specs = [spec for name in names if wanted is None or name in wanted for spec in variants(collective, layout, name, now)]
    specs += [spec for spec in wanted or [] if "=" in spec and spec.split()[0] in names]
    return list({effect(collective, layout, spec, block): spec for spec in specs[::-1]}.values())[::-1]
