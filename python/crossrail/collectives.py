"""The collectives that crossrail knows, and the MPI calls of each, as libcrossrail.so tells them."""

from dataclasses import dataclass
from typing import Callable, Dict, List, Optional, Tuple

from crossrail import core
from crossrail.errors import CliError, did_you_mean

BLOCKING, NONBLOCKING, PERSISTENT = "blocking", "nonblocking", "persistent"
NAME_OF_FORM = {BLOCKING: "{}", NONBLOCKING: "i{}", PERSISTENT: "{}_init"}  # of MPI's call, in small letters


@dataclass(frozen=True)
class Collective:
    """One row of crossrail_collectives(): its calls in MPI; what is counted (block, vector, elements); the setting of its algorithm."""

    name: str
    mpi: Tuple[str, ...]
    counts: str
    reduces: bool
    setting: str

    @property
    def knows_sizes(self) -> bool:
        """Whether every rank knows the size of all blocks."""
        return self.counts != "vector"

    @property
    def forms(self) -> Dict[str, str]:
        """The names of its calls, as `crossrail bench` takes them, with the form of each: {'ialltoall': 'nonblocking', ...}."""
        names = {name.format(self.name): form for form, name in NAME_OF_FORM.items()}
        return {name: form for name, form in names.items() if f"MPI_{name.capitalize()}" in self.mpi}


def collectives() -> List[Collective]:
    """All of them. Raises CliError where there is no library."""
    return [Collective(row["name"], tuple(row["mpi"]), row["counts"], row["reduces"], row["setting"]) for row in core.collective_rows()]


def find(name: str) -> Optional[Collective]:
    """The collective of this name, None where there is none."""
    return next((one for one in collectives() if one.name == name), None)


def find_call(name: str) -> Tuple[Collective, str]:
    """The collective and the form of a call: 'ialltoall' -> (alltoall, nonblocking). Raises CliError where there is none."""
    for one in collectives():
        if name in one.forms:
            return one, one.forms[name]
    raise CliError(f"There is no collective '{name}' here; there are {', '.join(call_names())}.{did_you_mean(name, call_names())}")


def names() -> List[str]:
    """The names of all collectives."""
    return [one.name for one in collectives()]


def call_names() -> List[str]:
    """The names of all calls, those of one collective side by side."""
    return [name for one in collectives() for name in one.forms]


def any_of(words: List[str]) -> str:
    """'a, b or c'."""
    return " or ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def for_help(listed: Callable[[], List[str]]) -> str:
    """For help texts, which must do without a library: 'a, b or c', or '...'."""
    try:
        return any_of(listed())
    except CliError:
        return "..."


def vector_names() -> List[str]:
    """The collectives whose blocks may be of any length."""
    return [one.name for one in collectives() if one.counts == "vector"]


def exchange_names() -> List[str]:
    """The collectives that move blocks as they are, of any datatype."""
    return [one.name for one in collectives() if not one.reduces]
