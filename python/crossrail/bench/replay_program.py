"""This module turns a recording into the text that the bench program `replay` reads: for every rank a line 'rank' and lines of words
(bench/replay_program.h)."""

from typing import Any, Dict, List, Tuple

from crossrail.bench.recording import Recording
from crossrail.errors import CliError

Members = Tuple[int, ...]
LONGEST_TYPE = 1 << 30  # One element of a datatype may span so many bytes.


def members_of(communicator: Dict[str, Any]) -> Members:
    """Returns its ranks of the world, in its order, or none if some of them are not of this job."""
    return tuple(first + at * step for first, count, step in communicator["ranks"] for at in range(count))


def numbered(process: Dict[str, Any]) -> List[Tuple[Members, int]]:
    """Identifies each communicator of a rank in the way that all its members know: by its ranks, and by how many with the same ranks came before."""
    seen: Dict[Members, int] = {}
    names = []
    for communicator in process["communicators"]:
        members = members_of(communicator)
        names.append((members, seen.get(members, 0)))
        seen[members] = names[-1][1] + 1
    return names


def places(recording: Recording) -> Dict[Tuple[Members, int], int]:
    """Returns the order in which all ranks make the communicators that all their members have used."""
    users: Dict[Tuple[Members, int], int] = {}
    for process in recording["processes"]:
        for name in numbered(process):
            users[name] = users.get(name, 0) + 1
    whole = [name for name, count in users.items() if name[0] and count == len(name[0])]
    return {name: place for place, name in enumerate(sorted(whole, key=lambda name: (name[1], name[0])))}


def type_words(one: Dict[str, Any]) -> str:
    """Writes bytes, extent and pieces. Elements lie in increasing order, and a type with absolute addresses begins at its own address.

    A type with too many pieces, or with pieces all over the memory, becomes as many contiguous bytes.
    """
    pieces, extent = one.get("pieces") or [], one.get("extent", one["bytes"])
    ends = [at for offset, length, count, stride in pieces for first in (offset, offset + (count - 1) * stride) for at in (first, first + length)] or [0, one["bytes"]]
    span = max(ends) - min(ends)
    if span > LONGEST_TYPE:
        pieces, span = [], one["bytes"]
    if not 1 <= extent <= LONGEST_TYPE or (not pieces and extent < span):
        extent = span
    shift = min(ends) if abs(min(ends)) > LONGEST_TYPE else 0
    moved = [[offset - shift, *others] for offset, *others in pieces]
    return "type " + " ".join(map(str, [one["bytes"], extent, len(moved), *(number for piece in moved for number in piece)]))


def rows_words(rows: List[List[int]]) -> str:
    """Writes the number of rows and then the rows."""
    return " ".join(map(str, [len(rows), *(number for count, kind, ranks in rows for number in (count, max(kind, 0), ranks))]))


def event_words(event: Dict[str, Any]) -> str:
    """Writes one event. Raises CliError for one that no replay can make."""
    for what in ("complete", "start", "free"):
        if what in event:
            return f"{what} {len(event[what])} " + " ".join(map(str, event[what]))
    if "device" in event["memory"]:
        raise CliError("Calls on device memory were recorded; only calls on host memory can be replayed.")
    words = ["call", event["call"], event["form"], str(event["comm"]), str(int(event["in_place"])), event.get("operation", "none"), event.get("element", "none")]
    return " ".join([*words, rows_words(event["sent"]), rows_words(event["received"])])


def step_words(steps: List[Any], lines: List[str]) -> None:
    """Adds a line for every event, with the mean of the gaps before it in seconds, and two for every loop."""
    for step in steps:
        if isinstance(step, dict):
            lines.append(f"[ {step['times']}")
            step_words(step["body"], lines)
            lines.append("]")
        else:
            event, times, gaps, _ = step
            if times < 1 or gaps < 0:
                raise CliError(f"The recording is damaged: a step {step} makes no sense.")
            lines.append(f"e {event} {gaps / times:.9f}")


def process_words(process: Dict[str, Any], order: Dict[Tuple[Members, int], int]) -> List[str]:
    """Returns the lines of one rank."""
    lines = ["rank"]
    for number, name in enumerate(numbered(process)):
        members = name[0] if name in order else ()  # Without ranks, calls on it are left out.
        lines.append(" ".join(map(str, ["comm", number, order.get(name, 0), len(members), *members])))
    lines += [type_words(one) for one in process["types"]] or ["type 1 1 0"]
    lines += [event_words(event) for event in process["events"]]
    lines.append("steps")
    step_words(process["sequence"], lines)
    return [*lines, "end"]


def replay_program(recording: Recording) -> str:
    """Returns the whole text. Raises CliError for a recording that cannot be replayed or is damaged."""
    if any(process["several_threads"] for process in recording["processes"]):
        raise CliError("Several threads of a process made the recorded calls: in which order they may be replayed is not known.")
    try:
        order = places(recording)
        return "\n".join(line for process in recording["processes"] for line in process_words(process, order)) + "\n"
    except (KeyError, TypeError, ValueError, IndexError, ArithmeticError, RecursionError) as error:
        wrong = f"{error} is missing" if isinstance(error, KeyError) else "the calls of a process are not written as they should be"
        raise CliError(f"The recording is damaged: {wrong}.") from None
