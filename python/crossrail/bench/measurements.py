"""This module compares crossrail with native MPI, size by size, from what the bench programs measured.

A measurement is the JSON of a bench program as a dict; times are microseconds, each the maximum over ranks of
one repetition. All contenders of a size have as many repetitions, which they make in turns (older measurements have
unequal numbers). Results of nonblocking and persistent calls have their parts as well: pure, start, wait, compute, total,
exposed (total - compute) and blocking as {p25_us, p50_us, p75_us}, overlap as {p25_percent, ...}, work_us (what the work
between start and wait takes by itself), and init_us where a persistent request was made. A result is marked not_run
if another algorithm ran than its contender's name says. p50_low_us and p50_high_us are the 95 % confidence interval of
the median, from order statistics; there is none for fewer than six repetitions.
"""

from dataclasses import dataclass
from statistics import geometric_mean
from typing import Any, Dict, List, Optional, Tuple

from crossrail.sizes import format_size

Measurement = Dict[str, Any]

NCCL = "nccl"  # The names of its contenders begin so.
BEST_NCCL = "best NCCL"
IN_A_ROW = "_in_a_row"  # The names of contenders that make 20 calls in a stream end so.


@dataclass
class Comparison:
    """Has the native (or another reference's) and crossrail's result at one block size; `speedup` = native median / crossrail's."""

    bytes: int
    native: Dict[str, Any]
    own: Dict[str, Any]

    @property
    def speedup(self) -> float:
        """Returns a number above 1 if crossrail is faster, and 0 if a time is missing."""
        return self.native["p50_us"] / self.own["p50_us"] if self.own["p50_us"] > 0 else 0.0

    @property
    def wrong(self) -> int:
        """Returns the number of wrong blocks in both."""
        return self.native.get("wrong", 0) + self.own.get("wrong", 0)


def contenders(measurement: Measurement) -> List[str]:
    """Returns the names in order of appearance, with 'native' and 'auto' first."""
    seen = list(dict.fromkeys(result["contender"] for result in measurement["results"]))
    first = [name for name in ("native", "auto") if name in seen]
    return first + [name for name in seen if name not in first]


def processes_of(result: Dict[str, Any]) -> int:
    """Returns how many processes moved a GPU's data: the rank with its helper processes, or those of a ping-pong."""
    return result.get("processes", result.get("helpers", 0) + 1)


def of_processes(measurement: Measurement, count: int) -> Measurement:
    """Returns the part of a measurement that was measured with so many processes."""
    part = {name: [row for row in measurement[name] if processes_of(row) == count] for name in ("results", "not_run") if name in measurement}
    return {**{name: value for name, value in measurement.items() if name != "process_counts"}, **part}


def on_device(measurement: Measurement) -> bool:
    """Returns whether the buffers were in device memory."""
    return measurement.get("memory", "host") != "host"


def best_of(measurement: Measurement, *beginnings: str) -> List[Dict[str, Any]]:
    """Returns, by size, the result with the smallest median of contenders whose names begin so. Calls in a row are left out: they measure another thing."""
    best: Dict[int, Dict[str, Any]] = {}
    for result in measurement["results"]:
        if result["contender"].startswith(beginnings) and not result["contender"].endswith(IN_A_ROW):
            other = best.setdefault(result["bytes"], result)
            if result["p50_us"] < other["p50_us"]:
                best[result["bytes"]] = result
    return [best[size] for size in sorted(best)]


def reference(measurement: Measurement) -> str:
    """Returns what crossrail is compared with: native MPI, or for device memory the best of NCCL if it was measured."""
    return BEST_NCCL if on_device(measurement) and best_of(measurement, NCCL) else "native"


def rivals(measurement: Measurement) -> List[str]:
    """Returns the contenders that are compared with the reference: crossrail's, and peers that do the same."""
    others = ("native", "copy_engine_limit")
    return [name for name in contenders(measurement) if name not in others and not (on_device(measurement) and name.startswith(NCCL))]


def results_of(measurement: Measurement, contender: str) -> List[Dict[str, Any]]:
    """Returns the results of a contender, by size; 'best NCCL' stands for several."""
    if contender == BEST_NCCL:
        return best_of(measurement, NCCL)
    return sorted((one for one in measurement["results"] if one["contender"] == contender), key=lambda one: one["bytes"])


def compare(measurement: Measurement, contender: str = "auto", peer: Optional[str] = None) -> List[Comparison]:
    """Compares `contender` with the reference (or with `peer` instead) at the sizes that both have."""
    native = {result["bytes"]: result for result in results_of(measurement, peer or reference(measurement))}
    return [Comparison(own["bytes"], native[own["bytes"]], own)
            for own in results_of(measurement, contender) if own["bytes"] in native]


@dataclass(frozen=True)
class SmallSpeedup:
    """Has the geometric mean of the speedups at the measured sizes up to 1 KiB, and these sizes."""

    mean: float
    sizes: str
    several: bool

    @property
    def sort_of_mean(self) -> str:
        """Returns the words that follow the number; for a single size there is no mean."""
        return " (geometric mean)" if self.several else ""


def small_speedup(comparisons: List[Comparison]) -> Optional[SmallSpeedup]:
    """Returns the mean over the sizes from 1 byte to 1 KiB, or None if there are none."""
    small = [one for one in comparisons if 1 <= one.bytes <= 1024 and one.speedup > 0]
    return SmallSpeedup(geometric_mean(one.speedup for one in small), size_range([one.bytes for one in small]), len(small) > 1) if small else None


def times_faster(speedup: float) -> str:
    """Returns '1.40 times faster' or '4.80 times slower'."""
    return f"{speedup:.2f} times faster" if speedup >= 0.995 else f"{1 / speedup:.2f} times slower"


def lag_behind_alltoall(measurement: Measurement) -> Optional[str]:
    """Returns a sentence on crossrail's alltoallv against its alltoall for the same exchange, or None if that was not measured."""
    pairs = compare(measurement, "auto", "alltoall")
    lags = {one.bytes: 1 / one.speedup for one in pairs if one.speedup > 0}
    if not lags:
        return None
    worst = max(lags, key=lambda size: lags[size])
    return (f"crossrail's {measurement['collective']} takes {geometric_mean(lags.values()):.2f} of the time of its alltoall for the same "
            f"exchange (geometric mean), at worst {lags[worst]:.2f} at {format_size(worst)}.")


def wrong_blocks(measurement: Measurement) -> int:
    """Returns the number of blocks, over all results, whose data do not match the definition."""
    return sum(result.get("wrong", 0) for result in measurement["results"])


def set_aside_not_run(measurement: Measurement) -> None:
    """Moves results of another algorithm than their contender's name says to 'not_run'."""
    left_out = [one for one in measurement["results"] if one.get("not_run")]
    if left_out:
        measurement["results"] = [one for one in measurement["results"] if not one.get("not_run")]
        measurement["not_run"] = left_out


def not_run_sentences(measurement: Measurement) -> List[str]:
    """Returns a sentence for every contender that was left out at some sizes because it did not run there."""
    sizes: Dict[Tuple[str, str], List[int]] = {}
    for one in measurement.get("not_run", []):
        sizes.setdefault((one["contender"], one["algorithm"]), []).append(one["bytes"])
    return [f"{contender} did not run at {size_range(found)}: {ran} did. These times are left out." for (contender, ran), found in sizes.items()]


def size_range(sizes: List[int]) -> str:
    """Returns '1 B to 1 KiB', or a single size."""
    low, high = format_size(min(sizes)), format_size(max(sizes))
    return low if low == high else f"{low} to {high}"


def verdict(measurement: Measurement) -> str:
    """Returns one sentence on the data: checked and right, wrong, or not checked."""
    wrong = wrong_blocks(measurement)
    if not measurement["results"]:
        return "Nothing was measured."
    if wrong:
        return f"{wrong} blocks were wrong."
    return "Every byte received was checked and right." if measurement.get("checked") else "The data were not checked."


def interval(result: Dict[str, Any]) -> Optional[Tuple[float, float]]:
    """Returns the 95 % confidence interval of the median in microseconds, or None if the measurement has none."""
    return (result["p50_low_us"], result["p50_high_us"]) if "p50_high_us" in result else None


def is_clear(one: Comparison) -> bool:
    """Returns whether the intervals of both medians are known and disjoint, so that the difference exceeds the scatter within this run."""
    native, own = interval(one.native), interval(one.own)
    return bool(native and own) and (native[1] < own[0] or own[1] < native[0])


def title(measurement: Measurement) -> str:
    """Returns 'MPI_Alltoall, 8 ranks on 1 node, Open MPI v4.1.4', with the share of empty blocks if there are any."""
    if measurement["collective"] == "pingpong":
        return ping_pong_title(measurement)
    nodes = measurement.get("nodes", 1)
    empty = measurement.get("empty_percent", 0)
    return (f"MPI_{measurement['collective'].capitalize()}, {measurement['ranks']} ranks on {nodes} "
            f"node{'s' if nodes != 1 else ''}, {measurement.get('mpi', 'MPI')}" + (f", {empty} % of the blocks empty" if empty else "")
            + (", lengths of blocks by Zipf's law" if measurement.get("counts") == "zipf" else "")
            + (f", datatype {measurement['datatype']}" if measurement.get("datatype", "contiguous") != "contiguous" else "")
            + (", in place" if measurement.get("in_place") else "") + (", off cache" if measurement.get("off_cache") else "")
            + (", buffers allocated for every call" if measurement.get("fresh") else "")
            + (", slices of one allocation" if measurement.get("slices") else "") + (", beside a kernel" if measurement.get("beside") else "")
            + (f", memory of {device_name(measurement)}" if on_device(measurement) else "")
            + (f", {count_words(*measurement['process_counts'])} a GPU" if measurement.get("process_counts") else ""))


def count_words(*counts: int) -> str:
    """Returns '1 process', '4 processes' or '1, 2 and 4 processes'."""
    numbers = " and ".join(filter(None, [", ".join(map(str, counts[:-1])), *map(str, counts[-1:])]))
    return f"{numbers} process{'es' if counts != (1,) else ''}"


def ping_pong_title(measurement: Measurement) -> str:
    """Returns 'Ping-pong between two nodes, 1 GPU a node, 1, 2 and 4 processes a GPU, Open MPI v4.1.4, host memory'."""
    gpus = measurement.get("gpus", 1)
    place = f"copies to and from the memory of {device_name(measurement)}" if on_device(measurement) else "host memory"
    return (f"Ping-pong between two nodes, {gpus} GPU{'s' if gpus != 1 else ''} a node, {count_words(*measurement['process_counts'])} a GPU, "
            f"{measurement.get('mpi', 'MPI')}, {place}")


def device_name(measurement: Measurement) -> str:
    """Returns 'NVIDIA H200 (driver 580.1)'."""
    driver = measurement.get("driver")
    return measurement.get("device", "a GPU") + (f" (driver {driver})" if driver else "")


def caveats(measurement: Measurement) -> List[str]:
    """Returns what a reader must know before quoting the numbers."""
    notes = []
    if measurement.get("oversubscribed"):
        notes.append(f"More ranks than cores ({measurement['ranks']} on {measurement.get('cores', '?')}): the times are those of a busy scheduler, "
                     "not of the hardware.")
    if measurement.get("off_cache"):
        notes.append("The buffers were flushed from the caches before every call, and each call was timed by itself; what the libraries keep stays cached.")
    elif measurement.get("fresh"):
        notes.append("The buffers were allocated before every call and freed behind it, and timed with it.")
    elif measurement.get("slices"):
        notes.append("Every call used another slice of one allocation; long slices overlap, and small ones may stay in the caches.")
    elif measurement.get("rotating_buffers", 1) == 1:
        notes.append("The same buffers in every repetition: small sizes stay in the caches.")
    if measurement.get("beside"):
        notes.append("A kernel of the bench ran on half of each device's multiprocessors meanwhile, the same for every contender.")
    if measurement["collective"] == "pingpong" and measurement.get("nodes", 1) == 1:
        notes.append("All processes were on one node: messages went through its memory, not over a network.")
    if measurement.get("hosts_of_one_machine"):
        notes.append("The hosts are namespaces of one machine: bytes between them pass through its kernel, not through network cards.")
    for mark, words in (("stopped", "was stopped"), ("failed", "failed")):
        if measurement.get(mark) and measurement["results"]:
            notes.append(f"The run {words}: only {size_range([one['bytes'] for one in measurement['results']])} was measured.")
    if measurement.get("cut_short_at_bytes"):
        notes.append(f"The time was over before {format_size(measurement['cut_short_at_bytes'])}: larger blocks were not measured.")
    unchecked = dict.fromkeys(one["contender"] for one in measurement["results"] if not one.get("checked", True))
    notes += [f"{name} does not make the whole exchange: its data are not checked." for name in unchecked]
    return notes + measurement.get("notes", [])
