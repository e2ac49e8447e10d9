"""What is tried when a table is tuned: the algorithms that fit, with the parameters worth trying."""

from dataclasses import dataclass
from typing import Dict, List, Optional

from crossrail import core
from crossrail.problem import Problem
from crossrail.sizes import parse_size


# The parameters to try, by collective and algorithm; the others are tried as they are.
VARIANTS: Dict[str, Dict[str, List[str]]] = {
    "alltoall": {
        "node_shared": ["packet=512", "packet=1K", "packet=2K"],
        "leader_pipelined": ["ahead=1", "ahead=16", "leaders=2", "leaders=4", "leaders=8"],
        "scatter_destination": ["throttle=4", "throttle=32"],
        "node_leaders": ["throttle=4", "throttle=32"],
    },
    "alltoallv": {
        "node_shared": ["direct=2K", "direct=2K packet=512", "direct=8K", "direct=8K packet=512", "direct=32K", "direct=32K packet=512"],
        "leader_pipelined": ["coalesce=1K", "coalesce=4K", "coalesce=16K", "coalesce=4K leaders=2", "coalesce=4K leaders=4",
                             "coalesce=16K leaders=4"],
        "scatter_destination": ["throttle=4", "throttle=32"],
    },
}
PRESETS = {"packet": 1024, "ahead": 16, "leaders": 1, "throttle": 32}
HYBRID_PRESETS = {"ipc_threshold": 4096, "memcpy_threshold": 512 * 1024}
OPT_IN = ("ipc_resident_push",)  # algorithms that run only where a setting allows them


@dataclass
class Layout:
    """Where the ranks of a measured communicator are, in blocks; `ranks_per_node` is that of the largest node.

    `memory`: where their data are, host or device.
    """

    ranks: int
    nodes: int
    ranks_per_node: int
    memory: str = "host"

    @property
    def node_of(self) -> List[int]:
        """The node of every rank."""
        return [rank * self.nodes // self.ranks for rank in range(self.ranks)]


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
    """The user's words for an algorithm, in the order of `spec_of`; raises Problem where a parameter is no name=size."""
    name, *parameters = text.split()
    if not all(word.count("=") == 1 for word in parameters):
        raise Problem(f"'{text}': parameters are written name=number, separated by blanks.")
    return spec_of(name, {word.partition("=")[0]: parse_size(word.partition("=")[2]) for word in parameters})


def parse_algorithms(collective: str, text: str, memory: str = "host") -> List[str]:
    """The algorithms of --algorithms; raises Problem for one that the catalogue lacks for this memory."""
    known = core.algorithm_names(collective, memory)
    specs = [parse_spec(word) for word in text.split(",") if word.strip() and word.strip() not in ("native", "auto")]
    for spec in specs:
        if spec.split()[0] not in known:
            raise Problem(f"{collective} has no algorithm '{spec.split()[0]}' for {memory} memory; it has {', '.join(known)}.")
        if spec.split()[0] in OPT_IN:
            raise Problem(f"{spec.split()[0]} runs only where a setting allows it: it cannot be tuned.")
    return specs


def answer_for(collective: str, layout: Layout, block: int) -> Dict:
    """What the library says about a call."""
    return core.explain(core.Question(collective, block, layout.node_of, memory=layout.memory))


def chosen_now(collective: str, layout: Layout, block: int, ran: Optional[str] = None) -> str:
    """What the table in force chooses; the setting of an algorithm, if there is one, does not count.

    `ran`: the algorithm seen to run, where it is not the first that should fit. Where device memory goes through host
    memory, that is one for host memory, and tables say native.
    """
    if ran and layout.memory == "device" and ran not in core.algorithm_names(collective, layout.memory):
        ran = "native"
    found = [one for one in answer_for(collective, layout, block)["candidates"] if one["origin"] != "setting"]
    found = [one for one in found if ran in (None, one["algorithm"])] or [{"algorithm": ran}]
    return spec_of(found[0]["algorithm"], found[0].get("parameters", {}))


def fitting(collective: str, layout: Layout, block: int) -> List[str]:
    """The algorithms of the catalogue that fit."""
    unfit = {one["algorithm"] for one in answer_for(collective, layout, block)["passed_over"] if one["why"].startswith("does not fit")}
    return [name for name in core.algorithm_names(collective, layout.memory) if name not in unfit]


def variants(collective: str, name: str) -> List[str]:
    """The variants of an algorithm; itself where there are none."""
    return [f"{name} {parameters}" for parameters in VARIANTS.get(collective, {}).get(name, [])] or [name]


def part_of_hybrid(layout: Layout, given: Dict[str, int], block: int) -> str:
    """The algorithm that hybrid runs at a size (src/collectives/alltoall_device/hybrid.cpp), unless a setting says another."""
    thresholds = {**HYBRID_PRESETS, **given}
    if block < thresholds["ipc_threshold"] and "packet" in fitting("alltoall", layout, block):
        return "packet"
    return "ipc_kernel_push" if block < thresholds["memcpy_threshold"] else "ipc_copy_push"


def effect(collective: str, layout: Layout, spec: str, block: int) -> str:
    """What an algorithm with parameters does at a size: the same text, the same doing."""
    name, *words = spec.split()
    given = {word.partition("=")[0]: parse_size(word.partition("=")[2]) for word in words}
    if name == "hybrid":
        return part_of_hybrid(layout, given, block)
    limits = {"throttle": layout.ranks, "ahead": layout.nodes, "leaders": layout.ranks_per_node}
    for parameter in {word.partition("=")[0] for listed in VARIANTS.get(collective, {}).get(name, []) for word in listed.split()}:
        value = given.get(parameter, PRESETS.get(parameter, 0))
        if parameter == "packet" and collective == "alltoall":
            given[parameter] = int(block * layout.ranks_per_node <= value)
        elif parameter in limits:
            given[parameter] = min(value, limits[parameter])
    return spec_of(name, given)


def candidates(collective: str, layout: Layout, block: int, wanted: Optional[List[str]] = None) -> List[str]:
    """What to try at a size, besides 'native' and 'auto': of those that do the same, the first.

    `wanted` limits it to its algorithms; parameters given there are taken as they are.
    """
    names = [name for name in fitting(collective, layout, block) if name not in OPT_IN]
    specs = [spec for name in names if wanted is None or name in wanted for spec in variants(collective, name)]
    specs += [spec for spec in wanted or [] if "=" in spec and spec.split()[0] in names]
    return list({effect(collective, layout, spec, block): spec for spec in specs[::-1]}.values())[::-1]
