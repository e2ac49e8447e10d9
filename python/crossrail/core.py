"""libcrossrail.so through ctypes: the catalogue, the settings, explanations, the machine.

Every function returns what the JSON text holds, as lists and dicts (fields: include/crossrail/crossrail.h),
and raises CliError when the library is missing or answers {"error": ...}.
"""

import ctypes
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Dict, List, Sequence

from crossrail.errors import CliError
from crossrail.places import core_library

MEMORY_WORDS = {"host": "host", "device": "device", "cuda": "device", "hip": "device"}


class CQuestion(ctypes.Structure):
    """The C struct crossrail_question."""

    _fields_ = [
        ("collective", ctypes.c_char_p),
        ("block_bytes", ctypes.c_uint64),
        ("in_place", ctypes.c_int),
        ("size", ctypes.c_int),
        ("node_of", ctypes.POINTER(ctypes.c_int)),
        ("shared_segment", ctypes.c_int),
        ("single_copy", ctypes.c_int),
        ("memory", ctypes.c_char_p),
        ("mpi", ctypes.c_char_p),
        ("ranks_per_device", ctypes.c_int),
        ("form", ctypes.c_char_p),
    ]


@dataclass
class Question:
    """A call to explain; `node_of` has one node number a rank, so its length is the number of ranks.

    `memory`: host, device, or stream for device memory in a stream's order. `form`: blocking, nonblocking or persistent. `mpi`: 'openmpi4.1.6', or what the MPI library says of itself; empty: unknown.
    """

    collective: str
    block_bytes: int
    node_of: List[int]
    in_place: bool = False
    shared_segment: bool = True
    single_copy: bool = True
    memory: str = "host"
    mpi: str = ""
    ranks_per_device: int = 1
    form: str = "blocking"


def memory_kind(word: str, also: Sequence[str] = ()) -> str:
    """host or device, for what a user calls it, or one of `also`; raises CliError for anything else."""
    if word not in MEMORY_WORDS and word not in also:
        raise CliError(f"'{word}' is no memory known here; take one of {', '.join([*MEMORY_WORDS, *also])}.")
    return MEMORY_WORDS.get(word, word)


@lru_cache(maxsize=1)
def load() -> ctypes.CDLL:
    """The library; raises CliError when it is missing or does not load."""
    path = core_library()
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise CliError(f"{path} does not load: {error}.") from None
    for name in ("version", "catalogue", "collectives", "settings", "settings_given", "machine", "explain"):
        getattr(library, f"crossrail_{name}").restype = ctypes.c_char_p
    library.crossrail_explain.argtypes = [ctypes.POINTER(CQuestion)]
    return library


def decode(text: bytes) -> Any:
    """The JSON text as Python values; raises CliError for {"error": ...}."""
    value = json.loads(text.decode())
    if isinstance(value, dict) and "error" in value:
        raise CliError(str(value["error"]))
    return value


def version() -> str:
    """'0.1.0'."""
    return load().crossrail_version().decode()


def catalogue() -> List[Dict[str, Any]]:
    """Every algorithm: collective, memory, name, summary, parameters (name, default, unit, values, help)."""
    return decode(load().crossrail_catalogue())


def collective_rows() -> List[Dict[str, Any]]:
    """Every collective: name, mpi (its calls), counts, reduces, setting."""
    return decode(load().crossrail_collectives())


def parameters(collective: str, algorithm: str, memory: str = "host") -> List[Dict[str, Any]]:
    """The parameters in an algorithm's row of the catalogue; none where there is no such row."""
    rows = [row for row in catalogue() if (row["collective"], row["name"], row["memory"]) == (collective, algorithm, memory)]
    return rows[0]["parameters"] if rows else []


def algorithm_names(collective: str, memory: str = "host") -> List[str]:
    """The algorithms of a collective for one kind of memory: host or device."""
    return [row["name"] for row in catalogue() if row["collective"] == collective and row["memory"] == memory]


def settings() -> List[Dict[str, str]]:
    """Every setting: variable, kind, scope, preset, value, help."""
    return decode(load().crossrail_settings())


def settings_given() -> Dict[str, Any]:
    """files: those read; given: variable, value, from, used, wrong of all that environment and files say, the strongest last."""
    return decode(load().crossrail_settings_given())


def machine() -> Dict[str, Any]:
    """What hwloc sees: host, cpu, packages, cores, domains, caches, gpus, nics."""
    return decode(load().crossrail_machine())


def explain(question: Question) -> Dict[str, Any]:
    """topology, mpi, chosen, segment_bytes_per_node, candidates, passed_over, warning."""
    size = len(question.node_of)
    asked = CQuestion(
        question.collective.encode(),
        question.block_bytes,
        int(question.in_place),
        size,
        (ctypes.c_int * size)(*question.node_of),
        int(question.shared_segment),
        int(question.single_copy),
        question.memory.encode(),
        question.mpi.encode(),
        question.ranks_per_device,
        question.form.encode(),
    )
    return decode(load().crossrail_explain(ctypes.byref(asked)))
