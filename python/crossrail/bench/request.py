"""A request says what a bench should do. It is built once and never changed."""

import math
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

from crossrail.algorithms import across_nodes, compact
from crossrail.cluster.plan import distribute
from crossrail.collectives import BLOCKING, NAME_OF_FORM, any_of, exchange_names, find, names, vector_names
from crossrail.helper_processes import MOST
from crossrail.errors import CliError, did_you_mean
from crossrail.places import check_flavour
from crossrail.sizes import parse_numbers

MEMORIES = ("host", "cuda")
STEPS = ("2", "sqrt2")
CONTIGUOUS = "contiguous"
DATATYPES = (CONTIGUOUS, "vector", "indexed", "resized", "subarray")
EQUAL = "equal"
COUNTS = (EQUAL, "zipf")
PING_PONG = "pingpong"
COMPLEX_BYTES = 16  # The blocks of alltoallw are multiples of it.
MOST_REPETITIONS = 1_000_000
BLOCK_UNIT = 64  # It counts bytes; every block of derived types is a multiple of it.


@dataclass(frozen=True)
class What:
    """Describes the calls; sizes are in bytes.

    `memory` is that of the buffers, host or cuda. `step` is the factor from a size to the next, 2 or sqrt2. `empty` is the percentage of empty
    blocks. `form` is blocking, nonblocking or persistent; for the last two, `tests` calls of MPI_Test are made in the work between start and wait.
    `kind` is the call if the collective has several: alltoallw of alltoallv. `contenders` are native, auto and algorithms.
    `peers` are contenders from other libraries, as NAME=LIBRARY:SYMBOL.
    `datatype` is that of both sides, or SENDER:RECEIVER if they differ (bench/datatype.h).
    `in_place` means MPI_IN_PLACE. `off_cache` means that every timed call finds its buffers outside the caches. `counts` of blocks are equal or
    zipf. `fresh` means that buffers are allocated before and freed after every call, and timed with it. `buffers` is the number of sets used in
    turn. `slices` means that every call uses another slice of one allocation. `beside` means that a kernel of the program's own runs on the device
    meanwhile. `processes` is the number of processes of a GPU in the ping-pong, and otherwise 0.
    """

    collective: str
    min_bytes: int = 1
    max_bytes: int = 1 << 20
    step: Optional[str] = None
    memory: str = "host"
    empty: int = 0
    contenders: Tuple[str, ...] = ("native", "auto")
    peers: Tuple[str, ...] = ()
    form: str = BLOCKING
    tests: int = 0
    datatype: str = CONTIGUOUS
    in_place: bool = False
    off_cache: bool = False
    counts: str = EQUAL
    fresh: bool = False
    kind: str = ""
    buffers: int = 1
    processes: int = 0
    slices: bool = False
    beside: bool = False

    @property
    def program(self) -> str:
        """Returns the name of the bench program."""
        return self.kind or self.collective

    @property
    def call(self) -> str:
        """Returns the name of the call, such as 'ialltoallw'."""
        return NAME_OF_FORM[self.form].format(self.program)

    @property
    def lengths_differ(self) -> bool:
        """Returns whether blocks have different lengths."""
        return bool(self.empty) or self.counts != EQUAL


@dataclass(frozen=True)
class Where:
    """Describes the ranks and the MPI that starts them: flavour and launcher, which are found on this machine if they are None.

    With `hosts`, the job runs on a cluster of so many hosts that lives on this machine. `environment` is for the ranks. `helpers` is the number of
    helper processes beside each rank that share its long messages to other nodes.
    """

    ranks: int
    flavour: Optional[str] = None
    launcher: Optional[str] = None
    launcher_words: Tuple[str, ...] = ()
    hosts: Optional[int] = None
    environment: Dict[str, str] = field(default_factory=dict)
    helpers: int = 0


@dataclass(frozen=True)
class Effort:
    """Says how long to measure; None leaves a number to the bench. `seconds` is for a contender at one size.

    `most_seconds` is for everything; sizes for which no time is left are left out.
    """

    repetitions: Optional[int] = None
    seconds: Optional[float] = None
    most_seconds: Optional[float] = None


@dataclass(frozen=True)
class BenchRequest:
    """Says what to measure, where, and for how long."""

    what: What
    where: Where
    effort: Effort = Effort()


def later_calls(collective: str) -> List[str]:
    """Returns the calls of a collective that return before its end."""
    known = find(collective)
    return [name for name, form in known.forms.items() if form != BLOCKING] if known else []


def shortest_datatype(words: str) -> str:
    """Returns one name if both sides have the same: 'vector:vector' becomes 'vector'."""
    sender, _, receiver = words.partition(":")
    return sender if sender and sender == receiver else words


def check_datatype(what: What) -> None:
    """Raises CliError for a datatype that does not exist or cannot be measured in this way."""
    sides = what.datatype.split(":")
    if len(sides) > 2 or any(side not in DATATYPES for side in sides):
        raise CliError(f"The datatype is {any_of(list(DATATYPES))}, or two of them as SENDER:RECEIVER, not '{what.datatype}'.")
    if what.datatype == CONTIGUOUS:
        return
    if what.program not in exchange_names():
        raise CliError(f"{what.program} has elements of its own: --datatype is for {any_of(exchange_names())}.")
    if what.peers:
        raise CliError("--peer is measured on contiguous data only.")
    if what.max_bytes < BLOCK_UNIT:
        raise CliError(f"Blocks of derived datatypes are multiples of {BLOCK_UNIT} bytes: --max {compact(what.max_bytes)} leaves none.")


def check_buffers(what: What) -> None:
    """Raises CliError for buffers that cannot be measured in this way."""
    plain = what.memory == "host" and not what.peers
    if what.in_place and (not plain or what.lengths_differ or what.datatype != CONTIGUOUS or what.kind == "alltoallw"):
        raise CliError("--in-place is for contiguous data in host memory, without --empty, --counts and --peer.")
    if what.off_cache and (not plain or what.form != BLOCKING):
        raise CliError("--off-cache is for blocking calls in host memory, without --peer.")
    if what.fresh and (what.memory == "host" or what.form != BLOCKING or what.buffers > 1):
        raise CliError("--fresh is for blocking calls in device memory, without --buffers: --memory cuda.")
    if what.slices and (what.fresh or what.buffers > 1):
        raise CliError("--slices is measured without --buffers and --fresh.")
    if what.beside and (what.memory == "host" or what.fresh):
        raise CliError("--beside is for device memory, without --fresh: --memory cuda.")


def check_lengths(what: What) -> None:
    """Raises CliError for lengths of blocks that do not exist or that the collective does not support."""
    if what.counts not in COUNTS:
        raise CliError(f"The counts are {any_of(list(COUNTS))}, not '{what.counts}'.{did_you_mean(what.counts, COUNTS)}")
    if what.kind == "alltoallw" and what.max_bytes < COMPLEX_BYTES:
        raise CliError(f"Blocks of complex numbers are multiples of {COMPLEX_BYTES} bytes: --max {compact(what.max_bytes)} leaves none.")
    if what.lengths_differ and what.program not in vector_names():
        option = "--empty" if what.empty else "--counts"
        raise CliError(f"All blocks of {what.program} are equally long: {option} is for {any_of(vector_names())}.")


def distinct_counts(text: str, option: str, least: int, most: int) -> List[int]:
    """Returns the numbers of a list such as 0,1,3, each once. Raises CliError for anything else, or for numbers that are too small or too large."""
    counts = list(dict.fromkeys(parse_numbers(text, f"{least},1,3" if least == 0 else "1,2,4,8")))
    if min(counts) < least or max(counts) > most:
        raise CliError(f"{option} takes numbers from {least} to {most}, not '{text}'.")
    return counts


def helper_counts(text: Optional[str], collective: str) -> List[int]:
    """Returns the numbers in --helpers-per-gpu, or none if it is not given. Raises CliError if no algorithm uses helper processes."""
    if text is None:
        return []
    if not across_nodes(collective):
        able = [name for name in names() if across_nodes(name)]
        raise CliError(f"No algorithm of {collective} shares its messages with helper processes: --helpers-per-gpu is for {any_of(able)}.")
    return distinct_counts(text, "--helpers-per-gpu", 0, MOST)


def check_words(what: What) -> None:
    """Raises CliError for a memory or a step that does not exist."""
    if what.memory not in MEMORIES:
        raise CliError(f"The memory is {any_of(list(MEMORIES))}, not '{what.memory}'.")
    if what.step not in (None, *STEPS):
        raise CliError(f"The step is {any_of(list(STEPS))}, not '{what.step}'.")


def check_request(request: BenchRequest) -> None:
    """Raises CliError for a request that cannot be measured."""
    what = request.what
    check_words(what)
    check_flavour(request.where.flavour)
    if request.where.ranks < 2:
        raise CliError("A collective call needs at least 2 ranks: -n 2.")
    if request.where.hosts is not None:
        distribute(request.where.ranks, request.where.hosts)
    if what.min_bytes < 1:
        raise CliError("A block has at least 1 byte: --min 1.")
    if what.max_bytes < what.min_bytes:
        raise CliError(f"There is no size to measure: --min {compact(what.min_bytes)} is more than --max {compact(what.max_bytes)}.")
    if what.tests and what.form == BLOCKING:
        raise CliError(f"A blocking call has nothing to test: --tests is for {any_of(later_calls(what.collective))}.")
    if what.peers and what.form != BLOCKING:
        raise CliError("--peer is measured with blocking calls only.")
    check_lengths(what)
    check_datatype(what)
    check_buffers(what)
    if request.effort.repetitions is not None and not 1 <= request.effort.repetitions <= MOST_REPETITIONS:
        raise CliError(f"--repetitions is at least 1, and {MOST_REPETITIONS} at most.")
    check_seconds("--max-time", request.effort.most_seconds)


def check_seconds(option: str, seconds: Optional[float]) -> None:
    """Raises CliError if the value is no length of time; None means that it is not given."""
    if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
        raise CliError(f"{option} takes seconds, more than 0.")


def bench_options(request: BenchRequest) -> List[str]:
    """Returns the options of the bench program that express the request."""
    what, effort = request.what, request.effort
    numbers = {"--repetitions": effort.repetitions, "--seconds": effort.seconds, "--max-time": effort.most_seconds,
               "--empty-percent": what.empty or None, "--step": what.step,
               "--memory": None if what.memory == "host" else what.memory, "--form": None if what.form == BLOCKING else what.form,
               "--tests": what.tests or None, "--counts": None if what.counts == EQUAL else what.counts,
               "--buffers": what.buffers if what.buffers > 1 else None, "--processes": what.processes or None,
               "--datatype": None if what.datatype == CONTIGUOUS else what.datatype}
    given = [(option, value) for option, value in numbers.items() if value is not None]
    wanted = {"--in-place": what.in_place, "--off-cache": what.off_cache, "--fresh": what.fresh, "--slices": what.slices, "--beside": what.beside}
    flags = [option for option, given_too in wanted.items() if given_too]
    return flags + [word for option, value in [*given, *(("--peer", peer) for peer in what.peers)] for word in (option, str(value))]
