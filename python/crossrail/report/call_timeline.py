"""One call of one rank out of a trace that report/trace.py has written: what the rank did in it, and when."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from crossrail.errors import CliError, did_you_mean
from crossrail.inputs import parse_json, printable, read_text
from crossrail.json_shape import Amount, Count, misfit

HEAD = {"otherData": {"format": ("crossrail trace",)}, "traceEvents": [{"ph": str, "pid": int, "name": str}]}
ASYNCHRONOUS = {"cat": str, "ts": float, "tid": int, "id": str}
DETAILS = {"bytes?": Amount, "block_bytes?": Amount, "communicator_size?": Count, "algorithm?": str, "native_because?": str, "peer?": int,
           "asked?": str}
SHAPES = {"X": {"cat": str, "ts": float, "dur": Amount, "tid": int, "args": DETAILS},
          "b": {**ASYNCHRONOUS, "args": {**DETAILS, "call?": str}}, "e": ASYNCHRONOUS}
MOST_NAMES = 8  # in a sentence


@dataclass
class Slice:
    """A slice of the trace; times in microseconds of the trace. `id`: of what goes on beside the threads."""

    name: str
    category: str
    began: float
    ended: float
    thread: int
    id: str
    args: Dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """A part of a call; times in microseconds since the call began. `kind`: phase, wait, send, receive, device or on device."""

    kind: str
    name: str
    began: float
    ended: float
    bytes: int = 0
    peer: Optional[int] = None


@dataclass
class CallTimeline:
    """A call with its parts in the order in which they began. `number` of `calls` of that function, from 1 on; the rank is one of `ranks`."""

    label: str
    rank: int
    call: Slice
    number: int
    calls: int
    parts: List[Part]

    @property
    def duration(self) -> float:
        """Of the call, in microseconds."""
        return self.call.ended - self.call.began

    @property
    def end(self) -> float:
        """Of the call, and of what it left behind, in microseconds since the call began."""
        return max([self.duration, *(part.ended for part in self.parts)])


@dataclass(frozen=True)
class Wanted:
    """Which call: of which rank, of which function; the typical one where no number is given."""

    rank: int
    name: str
    number: Optional[int] = None


def entries_of(path: Path, rank: int) -> List[Dict[str, Any]]:
    """What a trace has of a rank. Raises CliError where it is none, or does not know the rank."""
    try:
        trace = parse_json(read_text(path))
    except ValueError:
        raise CliError(f"{path} is no JSON: name a file that 'crossrail run --trace' has written.") from None
    wrong = misfit(trace, HEAD)
    entries = [] if wrong else [one for one in trace["traceEvents"] if one["pid"] == rank]
    wrong = wrong or next(filter(None, (misfit(one, SHAPES.get(one["ph"], {}), f"a '{one['name'][:40]}' of rank {rank}") for one in entries)), "")
    if wrong:
        raise CliError(f"{path} is no trace that 'crossrail run --trace' has written: {wrong}.")
    if not entries:
        known = sorted({one["pid"] for one in trace["traceEvents"]})
        there = f"it has {len(known)}, from {known[0]} to {known[-1]}" if len(known) > 1 else f"it has rank {known[0]} only" if known else "it has none"
        raise CliError(f"{path} has no rank {rank}; {there}.")
    return entries


def slices_of(entries: List[Dict[str, Any]]) -> List[Slice]:
    """The slices in the order of the file, begins and ends put together."""
    found: List[Slice] = []
    begun: Dict[Tuple[str, str], List[Slice]] = {}
    for one in entries:
        if one["ph"] == "X":
            found.append(Slice(one["name"], one["cat"], one["ts"], one["ts"] + one["dur"], one["tid"], "", one["args"]))
        elif one["ph"] == "b":
            found.append(Slice(one["name"], one["cat"], one["ts"], one["ts"], one["tid"], one["id"], one["args"]))
            begun.setdefault((one["cat"], one["id"]), []).append(found[-1])
        elif one["ph"] == "e" and begun.get((one["cat"], one["id"])):
            opened = begun[one["cat"], one["id"]].pop()
            opened.ended = max(opened.began, one["ts"])
    return found


def calls_of(slices: List[Slice], name: str) -> List[Slice]:
    """The calls of a function in their order: nonblocking and persistent ones as a whole, from their start to their completion."""
    named = [one for one in slices if one.name == name and one.category in ("mpi", "pending")]
    pending = [one for one in named if one.category == "pending"]
    return sorted(pending or named, key=lambda one: one.began)


def typical(calls: List[Slice]) -> int:
    """The place of the call of median duration among those of the most common size and algorithm."""
    kinds = [(one.args.get("bytes"), one.args.get("algorithm")) for one in calls]
    common = Counter(map(repr, kinds)).most_common(1)[0][0]
    alike = [at for at, kind in enumerate(kinds) if repr(kind) == common]
    return sorted(alike, key=lambda at: calls[at].ended - calls[at].began)[(len(alike) - 1) // 2]


def belongs(one: Slice, call: Slice) -> bool:
    """Whether a slice is a part of the call. Work on a device that has no bytes of this rank's is none; what the device itself did belongs to that."""
    if one is call or one.category in ("mpi", "on device") or (one.category == "device" and not one.args.get("bytes")):
        return False
    if call.id:
        return call.id in (one.id, one.args.get("call"))
    return one.category != "pending" and "call" not in one.args and one.thread == call.thread and call.began <= one.began < call.ended


def parts_of(slices: List[Slice], call: Slice) -> List[Slice]:
    """The slices that are parts of the call."""
    own = [one for one in slices if belongs(one, call)]
    asked = {one.id for one in own if one.category == "device"}
    return own + [one for one in slices if one.category == "on device" and one.args.get("asked") in asked]


def part_of(one: Slice, call: Slice) -> Part:
    """The slice by the clock of the call."""
    kind = one.category
    if kind == "message":
        kind = "receive" if one.name == "receive" else "send"
    elif kind == "pending":
        kind = "wait" if one.name.startswith("wait") else "phase"
    return Part(kind, one.name, one.began - call.began, one.ended - call.began, one.args.get("bytes", one.args.get("block_bytes", 0)), one.args.get("peer"))


def read_timeline(path: Path, wanted: Wanted, label: str = "") -> CallTimeline:
    """The call that is wanted. Raises CliError where the file has no such call."""
    slices = slices_of(entries_of(path, wanted.rank))
    calls = calls_of(slices, wanted.name)
    if not calls:
        known = list(dict.fromkeys(one.name for one in slices if one.category == "mpi"))
        there = f"it has {', '.join(known[:MOST_NAMES])}{' and others' if len(known) > MOST_NAMES else ''}" if known else "it has none at all"
        raise CliError(f"{path} has no call of {wanted.name} by rank {wanted.rank}; {there}.{did_you_mean(wanted.name, known)}")
    if wanted.number and wanted.number > len(calls):
        there = f"{len(calls)} {'call' if len(calls) == 1 else 'calls'}"
        raise CliError(f"{path} has {there} of {wanted.name} by rank {wanted.rank}, and so no number {wanted.number}.")
    at = wanted.number - 1 if wanted.number else typical(calls)
    parts = sorted((part_of(one, calls[at]) for one in parts_of(slices, calls[at])), key=lambda part: (part.began, part.ended))
    return CallTimeline(label or printable(path.stem), wanted.rank, calls[at], at + 1, len(calls), parts)
