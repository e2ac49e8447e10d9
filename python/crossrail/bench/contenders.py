"""Contenders of a bench are native MPI, crossrail's algorithms, and functions of other libraries."""

from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

from crossrail import core
from crossrail.algorithms import check_spec
from crossrail.bench.device import device_peers, gpu_count, takes_device_memory
from crossrail.bench.request import CONTIGUOUS, What, Where
from crossrail.bench.run import chosen_flavour, chosen_launcher
from crossrail.collectives import BLOCKING, find
from crossrail.errors import CliError
from crossrail.launchers import core_count
from crossrail.places import bench_folders, first_file

NO_ALGORITHMS = ("auto", "passed")  # The first is crossrail's own choice; the second are calls that it hands back.
NATIVE_LEFT_OUT = "native is not measured: this MPI library does not say that it takes device memory (--native-cuda, if it does)."
PEERS_LEFT_OUT = "NCCL and the copy engines are not measured: they take contiguous data only."


@dataclass(frozen=True)
class Contenders:
    """Has the contenders' names, other libraries' names, and what these need in the ranks' environment; `notes` has a sentence on each missing one."""

    names: Tuple[str, ...]
    peers: Tuple[str, ...] = ()
    environment: Dict[str, str] = field(default_factory=dict)
    notes: Tuple[str, ...] = ()


def default_ranks(memory: str) -> int:
    """Returns one rank per core or per GPU, but at least two. Raises CliError if a GPU is wanted and there is none."""
    if memory == "host":
        return core_count()
    if gpu_count() == 0:
        raise CliError("The CUDA driver sees no GPU here. If the ranks will run where it does, say how many: -n.")
    return max(2, gpu_count())


def native_takes_part(what: What, where: Where, native_cuda: Optional[bool]) -> bool:
    """Returns whether the native MPI can be measured. `native_cuda` is what the user says about it; if it is None, the library is asked."""
    if what.memory == "host":
        return True
    return takes_device_memory(chosen_launcher(what.program, where)) if native_cuda is None else native_cuda


def contender_names(wanted: Optional[str], collective: str, memory: str, native: bool) -> List[str]:
    """Returns what --algorithms stands for: 'all' is crossrail's choice and every algorithm for this kind of memory.

    Another collective that makes the same exchange may be among them. Raises CliError for any other name.
    """
    names: List[str] = []
    for word in (wanted or "auto").split(","):
        names += ["auto", *core.algorithm_names(collective, core.memory_kind(memory))] if word == "all" else [word]
    others = [name for name in dict.fromkeys(word.strip() for word in names) if name not in ("native", "")]
    if not others and not any(word.strip() for word in names):
        raise CliError("No contender is named: --algorithms native,auto.")
    for name in others:
        if name not in NO_ALGORITHMS and find(name) is None:
            check_spec(collective, name, core.memory_kind(memory))
    return ["native", *others] if native else others


def where_it_lies(peer: str) -> str:
    """Adds the path to a contender of --peer whose library is named without a folder and lies beside the benches."""
    name, _, function = peer.partition("=")
    library, _, symbol = function.rpartition(":")
    found = first_file(bench_folders(), library) if library and "/" not in library else None
    return f"{name}={found}:{symbol}" if found else peer


def resolve_contenders(what: What, where: Where, wanted: str, native_cuda: Optional[bool]) -> Contenders:
    """Returns all contenders for the user's --algorithms and --peer; peers that belong to device memory are added automatically."""
    native = native_takes_part(what, where, native_cuda)
    names = tuple(contender_names(wanted, what.collective, what.memory, native))
    own_peers = tuple(where_it_lies(peer) for peer in what.peers)
    notes = () if native else (NATIVE_LEFT_OUT,)
    if what.memory == "host" or what.form != BLOCKING:
        return Contenders(names, own_peers, {}, notes)
    if what.datatype != CONTIGUOUS:
        return Contenders(names, own_peers, {}, (*notes, PEERS_LEFT_OUT))
    peers = device_peers(what.program, chosen_flavour(where.flavour))
    return Contenders(names, (*peers.options, *own_peers), peers.environment, (*notes, *peers.missing))
