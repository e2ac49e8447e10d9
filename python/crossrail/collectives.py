"""The collectives that crossrail knows, and the MPI calls of each, as libcrossrail.so tells them."""

from dataclasses import dataclass
from typing import Callable, Dict, List, Optional, Tuple

from crossrail import core
from crossrail.errors import CliError, did_you_mean

BLOCKING, NONBLOCKING, PERSISTENT = "blocking", "nonblocking", "persistent"
NAME_OF_FORM = {BLOCKING: "{}", NONBLOCKING: "i{}", PERSISTENT: "{}_init"}  # of MPI's call, in small letters


@dataclass(frozen=True)
class Collective:
    """One row of crossrail_collectives(): its calls in MPI; what is counted (block, vector, table, elements); the setting of its algorithm."""

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
        return {NAME_OF_FORM[form].format(name): form for name in self.kinds for form in NAME_OF_FORM
                if f"MPI_{NAME_OF_FORM[form].format(name).capitalize()}" in self.mpi}

    @property
    def kinds(self) -> List[str]:
        """The names of its blocking calls, its own first: of alltoallv, alltoallw, too. Each has a bench program."""
        names = [name[len("MPI_"):].lower() for name in self.mpi if not name.endswith("_init")]
        return [name for name in names if not (name.startswith("i") and name[1:] in names)]

    def kind_of(self, call: str) -> str:
        """The blocking call beside one of its calls: 'ialltoallw' -> 'alltoallw'."""
        return next(name for name in self.kinds if call in [word.format(name) for word in NAME_OF_FORM.values()])


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
    return [one.name for one in collectives() if one.counts in ("vector", "table")]


def unknown_size_names() -> List[str]:
    """The collectives of which no rank knows the size of all blocks."""
    return [one.name for one in collectives() if not one.knows_sizes]


def exchange_names() -> List[str]:
    """The collectives that move blocks as they are, of any datatype."""
    return [one.name for one in collectives() if not one.reduces]
