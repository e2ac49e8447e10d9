"""Benches are measured for several numbers of processes that move a GPU's data: one process and its helper processes, or a ping-pong.

Each number is measured by a job of its own, one after the other. Their measurements are joined into one, whose results have `helpers` (beside the
rank) or `processes` (of a GPU); its `process_counts` are the numbers of processes.
"""

import os
from dataclasses import replace
from typing import Any, Callable, Dict, List, Optional, Sequence

from crossrail import core
from crossrail.algorithms import spec_of
from crossrail.bench.measurements import Measurement, count_words, processes_of
from crossrail.bench.request import BenchRequest, Effort, What, Where
from crossrail.bench.run import measure
from crossrail.errors import CliError, Stopped

KEPT = ("stopped", "failed")  # These say why a job ended too early; no other job is started then.

Job = Callable[[], Measurement]


def joined(measurements: Sequence[Measurement]) -> Measurement:
    """Joins the measurements of several jobs: returns the first one, with the results of all."""
    whole = {**measurements[0], "results": [row for one in measurements for row in one["results"]]}
    not_run = [row for one in measurements for row in one.get("not_run", [])]
    notes = list(dict.fromkeys(note for one in measurements for note in one.get("notes", [])))
    whole.update({name: value for name, value in (("not_run", not_run), ("notes", notes)) if value})
    cut = [one["cut_short_at_bytes"] for one in measurements if one.get("cut_short_at_bytes")]
    whole["cut_short_at_bytes"] = min(cut, default=0)
    whole["oversubscribed"] = any(one.get("oversubscribed") for one in measurements)
    whole["process_counts"] = sorted({processes_of(row) for row in whole["results"]})
    whole["ranks"] = max(one.get("ranks", 0) for one in measurements)
    for name in KEPT:
        whole.update({name: one[name] for one in measurements if name in one})
    return whole


def one_after_the_other(jobs: Sequence[Job]) -> Measurement:
    """Runs the jobs and joins their measurements. If a job fails or the user stops it, what was measured before is kept."""
    done: List[Measurement] = []
    for job in jobs:
        try:
            done.append(job())
        except (CliError, KeyboardInterrupt) as error:
            if not done:
                raise
            done.append({"results": [], **({"stopped": True} if isinstance(error, (Stopped, KeyboardInterrupt)) else {"failed": str(error)})})
        if any(name in done[-1] for name in KEPT):
            break
    return joined(done)


def marked(measurement: Measurement, name: str, count: int) -> Measurement:
    """Returns the measurement with the number in each of its results."""
    for row in [*measurement["results"], *measurement.get("not_run", [])]:
        row[name] = count
    return measurement


def measure_with_helpers(request: BenchRequest, counts: Sequence[int], machine: Optional[str]) -> Measurement:
    """Measures a collective with each of these numbers of helper processes beside each rank."""
    def job(count: int) -> Job:
        """Returns the job for one number of them."""
        return lambda: marked(measure(replace(request, where=replace(request.where, helpers=count)), machine), "helpers", count)

    whole = one_after_the_other([job(count) for count in counts])
    sentence = without_use(whole, request.what.collective)
    return {**whole, "notes": [*whole.get("notes", []), sentence]} if sentence else whole


def without_use(measurement: Measurement, collective: str) -> str:
    """Returns a sentence if helper processes had nothing to do, or if crossrail chose to share messages among fewer than there were; otherwise ''."""
    largest = max((row for row in measurement["results"] if row["contender"] == "auto"), key=lambda row: row["bytes"], default=None)
    ranks, nodes, most = measurement["ranks"], measurement["nodes"], max(measurement["process_counts"], default=1)
    if os.environ.get("CROSSRAIL_NODES"):
        return ""  # The setting says which rank is on which node, not the machine.
    if nodes < 2:
        return "All ranks were on one node, where helper processes have nothing to do."
    if not largest:
        return ""
    asked = core.Question(collective, largest["bytes"], [rank * nodes // ranks for rank in range(ranks)], memory=core.memory_kind(measurement.get("memory", "host")))
    taken = [one for one in core.explain(asked)["candidates"] if one["algorithm"] == largest["algorithm"]]
    given = taken[0].get("parameters", {}) if taken else {}
    if most <= given.get("processes", 1):
        return ""
    return (f"crossrail's own choice lets {count_words(given.get('processes', 1))} of a GPU share a message at most; "
            f"--algorithms '{spec_of(largest['algorithm'], {**given, 'processes': most})}' lets all of them.")


def measure_ping_pong(what: What, where: Where, effort: Effort, choice: Dict[str, Any]) -> Measurement:
    """Measures messages between two nodes of `gpus` GPUs each, for each number in `counts`; `machine` is its name. The time is for all jobs."""
    gpus, counts = choice["gpus"], choice["counts"]
    each = replace(effort, most_seconds=effort.most_seconds / len(counts) if effort.most_seconds else None)

    def job(count: int) -> Job:
        """Returns the job for one number of processes per GPU."""
        request = BenchRequest(replace(what, processes=count), replace(where, ranks=2 * gpus * count), each)
        return lambda: measure(request, choice["machine"])

    return {**one_after_the_other([job(count) for count in counts]), "gpus": gpus}
