"""A simulation's result by cell: an algorithm at a size on a number of nodes, in all cases of the machine."""

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

Result = Dict[str, Any]
Ends = Tuple[float, float]


@dataclass(frozen=True)
class Cell:
    """Has the results of one algorithm at one size on one number of nodes, by case."""

    nodes: int
    algorithm: str
    bytes: int
    by_case: Dict[str, Dict[str, Any]]

    def ends(self, what: str) -> Optional[Ends]:
        """Returns the least and the greatest value over the cases, or None if no case has it."""
        values = [one[what] for one in self.by_case.values() if what in one]
        return (min(values), max(values)) if values else None

    def words(self, what: str) -> List[str]:
        """Returns the words of all cases, each once, such as the transports."""
        return list(dict.fromkeys(str(one[what]) for one in self.by_case.values() if what in one))

    @property
    def checked(self) -> bool:
        """Returns whether all data were moved and compared."""
        return all(one.get("checked", False) for one in self.by_case.values())

    def faster_than(self, other: Optional["Cell"]) -> Optional[Ends]:
        """Returns how many times faster this is than the other cell: the least and the greatest ratio of times of the same case."""
        cases = [case for case in self.by_case if other and case in other.by_case]
        ratios = [other.by_case[case]["time_us"] / self.by_case[case]["time_us"] for case in cases if self.by_case[case]["time_us"] > 0]
        return (min(ratios), max(ratios)) if ratios else None


def cells(result: Result, nodes: int) -> Dict[Tuple[int, str], Cell]:
    """Returns the cells of a number of nodes by size and algorithm, in the order of the request."""
    found: Dict[Tuple[int, str], Cell] = {}
    mine = [one for one in result["results"] if one["nodes"] == nodes]
    for size in result["sizes"]:
        for name in result["algorithms"]:
            by_case = {one["case"]: one for one in mine if (one["bytes"], one["algorithm"]) == (size, name)}
            if by_case:
                found[(size, name)] = Cell(nodes, name, size, by_case)
    return found


def simulated_nodes(result: Result) -> List[int]:
    """Returns the numbers of nodes that have a result."""
    return [nodes for nodes in result["nodes"] if any(one["nodes"] == nodes for one in result["results"])]


def several_kinds(result: Result) -> bool:
    """Returns whether the fastest of several transports counts."""
    return any("transports" in one for one in result["results"])


def has_bands(result: Result) -> bool:
    """Returns whether there are two cases, the ends of the machine's ranges."""
    return len(result["cases"]) > 1
