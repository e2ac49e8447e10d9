"""The trace of a job: the files of CROSSRAIL_TRACE (src/base/trace.h), one a process, as one file of the Trace Event Format."""

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

from crossrail.console import warn
from crossrail.inputs import printable
from crossrail.outputs import writing
from crossrail.report.lanes import few_lanes

FORMAT = b"crtrace1"
HEAD = struct.Struct("<8sQQqqiiii256s")
TEXTS_AT, TEXT_COUNT, TEXT_BYTES = 4096, 256, 96
EVENTS_AT = TEXTS_AT + TEXT_COUNT * TEXT_BYTES
EVENT = struct.Struct("<QqqQQHHHHiiII")
CALL, PENDING, PHASE, WAIT, MESSAGE, DEVICE, ON_DEVICE = range(1, 8)
BEING_WRITTEN = 1 << 63  # in the number of an event that its thread has begun to write
CATEGORIES = {CALL: "mpi", PENDING: "pending", PHASE: "phase", WAIT: "wait", MESSAGE: "message", DEVICE: "device",
              ON_DEVICE: "on device"}
GPU_TRACKS = 1_000_000  # of a process begin here
UNKNOWN_RANKS = 1_000_000  # tracks of processes of which no rank is known, or that of another process, begin here
CLOCK = ("CLOCK_MONOTONIC, which the processes of a host share; of several hosts aligned by CLOCK_REALTIME "
         "as the first process of each host read both at its first call")


@dataclass
class Event:
    """One event; times in nanoseconds of the host's CLOCK_MONOTONIC, `ended` 0 where the process had not come to its end."""

    number: int
    began: int
    ended: int
    bytes: int
    of: int
    name: str
    algorithm: str
    native_because: str
    kind: int
    peer: int
    ranks: int
    thread: int

    def details(self) -> Dict[str, Any]:
        """What a reader sees when the slice is selected."""
        known = {"block_bytes" if self.kind == PHASE else "bytes": self.bytes if self.bytes or self.ranks else None, "communicator_size": self.ranks or None,
                 "algorithm": self.algorithm, "native_because": self.native_because, "peer": self.peer if self.peer >= 0 else None,
                 "unfinished": not self.ended or None}
        return {name: value for name, value in known.items() if value not in (None, "")}


@dataclass
class Part:
    """What one process has left."""

    rank: int
    world_size: int
    host: str
    process: int
    monotonic: int
    realtime: int
    capacity: int
    begun: int
    events: List[Event]

    @property
    def dropped(self) -> int:
        """Events that have made room for later ones."""
        return max(0, self.begun - self.capacity)


def text(data: bytes) -> str:
    """Up to the first zero."""
    return data.split(b"\0", 1)[0].decode(errors="replace")


def events_of(data: bytes, texts: List[str], begun: int, capacity: int) -> Iterator[Event]:
    """Those that are whole; a process that was killed may have been writing one."""
    there = min(begun, capacity, (len(data) - EVENTS_AT) // EVENT.size)
    for index, fields in enumerate(EVENT.iter_unpack(data[EVENTS_AT:EVENTS_AT + there * EVENT.size])):
        number, began, ended, size, of, name, algorithm, because, kind, peer, ranks, thread, _ = fields
        if 0 < number < BEING_WRITTEN and (number - 1) % capacity == index and kind in CATEGORIES and began and name <= TEXT_COUNT:
            yield Event(number, began, ended, size, of, texts[name] or "?", texts[algorithm], texts[because], kind, peer, ranks, thread)


def read_part(path: Path) -> Optional[Part]:
    """None: it is none, or the process had not come to write anything."""
    data = path.read_bytes()
    if len(data) < EVENTS_AT or data[:len(FORMAT)] != FORMAT:
        return None
    _, capacity, begun, monotonic, realtime, rank, world_size, process, _, host = HEAD.unpack_from(data)
    texts = [""] + [text(data[TEXTS_AT + one * TEXT_BYTES:TEXTS_AT + (one + 1) * TEXT_BYTES]) for one in range(TEXT_COUNT)]
    return Part(rank, world_size, text(host), process, monotonic, realtime, capacity, begun, list(events_of(data, texts, begun, capacity)))


def read_parts(folder: Path) -> List[Part]:
    """In the order of their ranks. What is no trace of a process, or not all of one, is said and left out."""
    parts = []
    for path in sorted(folder.glob("*.trace")):
        part = read_part(path)
        if part:
            parts.append(part)
        else:
            warn(f"{printable(path.name)} is incomplete and was left out.")
    return sorted(parts, key=lambda part: (part.rank < 0, part.rank, part.realtime))


def clock_offsets(parts: List[Part]) -> Dict[str, int]:
    """Of every host, what makes its CLOCK_MONOTONIC CLOCK_REALTIME: as its first process has seen it."""
    return {part.host: part.realtime - part.monotonic for part in sorted(parts, key=lambda part: part.realtime, reverse=True)}


def track_numbers(parts: List[Part]) -> List[int]:
    """The rank; processes of other worlds, or killed before their rank was known, have numbers of their own."""
    numbers: List[int] = []
    for part in parts:
        free = part.rank >= 0 and part.rank not in numbers
        numbers.append(part.rank if free else UNKNOWN_RANKS + len(numbers))
    return numbers


@dataclass
class Clock:
    """From a host's nanoseconds to the file's microseconds; what has not ended is shown to `last`, the end of the job."""

    offset: int
    first: int
    last: int

    def at(self, nanoseconds: int) -> float:
        """Since the first event of the job."""
        return (nanoseconds + self.offset - self.first) / 1000


def of_thread(event: Event, pid: int, clock: Clock) -> List[Tuple[Tuple, Dict[str, Any]]]:
    """A slice on its thread."""
    ended = event.ended or max(clock.last - clock.offset, event.began)
    slice_ = {"name": event.name, "cat": CATEGORIES[event.kind], "ph": "X", "ts": clock.at(event.began), "dur": (ended - event.began) / 1000,
              "pid": pid, "tid": event.thread, "args": event.details()}
    return [((event.began, 1, event.number), slice_)]


def of_no_thread(event: Event, pid: int, clock: Clock) -> List[Tuple[Tuple, Dict[str, Any]]]:
    """Begin and end of what goes on beside the threads: pending calls with their parts on one track, each message and device work on its own."""
    ended = event.ended or max(clock.last - clock.offset, event.began)
    alone = event.kind in (MESSAGE, DEVICE, PENDING)
    of = event.number if alone else event.of
    common = {"name": event.name, "cat": CATEGORIES[event.kind if alone else PENDING], "id": f"{pid}.{of}", "pid": pid, "tid": event.thread}
    details = {**event.details(), **({"call": f"{pid}.{event.of}"} if event.of else {})}
    return [((event.began, 1, event.number), {**common, "ph": "b", "ts": clock.at(event.began), "args": details}),
            ((ended, 0 if ended > event.began else 2, -event.number), {**common, "ph": "e", "ts": clock.at(ended)})]


def add_device_times(part: Part, pid: int, slices: List[Dict[str, Any]]) -> None:
    """To what was asked of a device, how long that took there."""
    taken = {f"{pid}.{event.of}": (event.ended - event.began) / 1000 for event in part.events if event.kind == ON_DEVICE and event.ended}
    for one in slices:
        if one["ph"] == "b" and one["id"] in taken and one["cat"] == CATEGORIES[DEVICE]:
            one["args"]["device_us"] = taken[one["id"]]


def gpu_entries(part: Part, pid: int, clock: Clock) -> Iterator[Dict[str, Any]]:
    """What the process's work did on its GPU, where it may have several queues, on tracks of their own. `asked`: the id of the slice that says
    when it was asked for."""
    name = f"rank {part.rank} GPU" if part.rank >= 0 else f"process {part.process} GPU"
    done = sorted((event for event in part.events if event.kind == ON_DEVICE and event.ended), key=lambda one: (one.began, one.number))
    for number, track in enumerate(few_lanes(done)):
        tid = GPU_TRACKS + number
        yield {"name": "thread_name", "ph": "M", "pid": pid, "tid": tid, "args": {"name": f"{name} ({number + 1})" if number else name}}
        for event in track:
            _, slice_ = of_thread(event, pid, clock)[0]
            yield {**slice_, "tid": tid, "args": {**slice_["args"], "asked": f"{pid}.{event.of}"}}


def entries_of(part: Part, pid: int, clock: Clock) -> Iterator[Dict[str, Any]]:
    """The track of one process: its names, then its events in order."""
    name = f"rank {part.rank} ({part.host})" if part.rank >= 0 else f"process {part.process} ({part.host})"
    yield {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}
    yield {"name": "process_sort_index", "ph": "M", "pid": pid, "args": {"sort_index": pid}}
    if part.dropped:
        yield {"name": "process_labels", "ph": "M", "pid": pid, "args": {"labels": f"{part.dropped} earlier events dropped"}}
    events = [event for event in part.events if event.kind != ON_DEVICE]
    for thread in sorted({event.thread for event in events}):
        yield {"name": "thread_name", "ph": "M", "pid": pid, "tid": thread, "args": {"name": f"thread {thread}"}}
    entries: List[Tuple[Tuple, Dict[str, Any]]] = []
    for event in events:
        on_thread = event.kind == CALL or (event.kind in (PHASE, WAIT) and not event.of)
        entries += (of_thread if on_thread else of_no_thread)(event, pid, clock)
    slices = [entry for _, entry in sorted(entries, key=lambda one: one[0])]
    add_device_times(part, pid, slices)
    yield from slices
    yield from gpu_entries(part, pid, clock)


def metadata(parts: List[Part], offsets: Dict[str, int]) -> Dict[str, Any]:
    """What the file says of itself."""
    processes = [{"rank": part.rank, "world_size": part.world_size, "host": part.host, "process": part.process, "events": len(part.events),
                  "events_dropped": part.dropped, "clock_offset_ns": offsets[part.host]} for part in parts]
    return {"format": "crossrail trace", "clock": CLOCK, "events_dropped": sum(part.dropped for part in parts), "processes": processes}


def write_trace(path: Path, parts: List[Part], until: Optional[int] = None) -> None:
    """`until`: CLOCK_REALTIME in nanoseconds when the job ended, for what its processes had not come to the end of. Raises CliError."""
    offsets = clock_offsets(parts)
    times = [(event.began + offsets[part.host], event.ended + offsets[part.host] if event.ended else 0) for part in parts for event in part.events]
    first = min((began for began, _ in times), default=0)
    last = max(max((max(one) for one in times), default=0), until or 0)
    with writing(path) as file:
        file.write('{"displayTimeUnit":"ns","otherData":' + json.dumps(metadata(parts, offsets)) + ',"traceEvents":[')
        before = "\n"
        for part, pid in zip(parts, track_numbers(parts)):
            for entry in entries_of(part, pid, Clock(offsets[part.host], first, last)):
                file.write(before + json.dumps(entry, separators=(",", ":")))
                before = ",\n"
        file.write("\n]}\n")


def trace_sentence(path: Path, parts: List[Part]) -> str:
    """Where it is, what it holds, how to look at it."""
    events, dropped = sum(len(part.events) for part in parts), sum(part.dropped for part in parts)
    missing = f" {dropped} earlier events had to make room (CROSSRAIL_TRACE_EVENTS)." if dropped else ""
    return f"The trace of {len(parts)} {'rank' if len(parts) == 1 else 'ranks'}, {events} events: {path}.{missing} Open it in https://ui.perfetto.dev or chrome://tracing."
