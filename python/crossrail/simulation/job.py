"""This module simulates a request run by run, and makes one result of all runs.

A run is one number of nodes, one case (the ends of the machine's ranges) and one kind of transport. With `best`, of all kinds the fastest counts in
each cell, and the result says which one it was.
"""

import datetime
import time
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Dict, List, Optional, Tuple

from crossrail.bench.run import commit
from crossrail.errors import CliError
from crossrail.places import simulation_program
from crossrail.simulation.machine_keys import KINDS
from crossrail.simulation.peers import PEERS, contender_lines, refusal
from crossrail.simulation.program import REFUSED, WRONG_DATA, Answer, Simulation, program_text
from crossrail.simulation.request import UNFAVOURABLE, Request

FORMAT, VERSION = "crossrail simulation", 1
Result = Dict[str, Any]
Hear = Callable[[float, str], None]  # It hears the number of runs that are done, with a fraction, and what runs.


@dataclass(frozen=True)
class Run:
    """Is one run of the program."""

    nodes: int
    case: str
    kind: str


@dataclass
class Collected:
    """Has what came so far: the answers of every run by algorithm and size. `failed` and `wrong` are sentences."""

    answers: Dict[Run, Dict[Tuple[str, int], Answer]] = field(default_factory=dict)
    stopped: bool = False
    time_over: bool = False
    failed: str = ""
    wrong: List[str] = field(default_factory=list)


def runs_of(request: Request) -> List[Run]:
    """Returns all runs in their order, the shortest first."""
    return [Run(nodes, case, kind) for nodes in request.nodes for case in request.cases for kind in request.kinds]


def input_text(request: Request, run: Run) -> str:
    """Returns the job as the program reads it."""
    options, values = request.options, request.machine.case(run.case != UNFAVOURABLE)
    lines = [f"nodes {run.nodes}", f"ranks_per_node {request.ranks_per_node}", f"collective {request.collective}"]
    ranks = run.nodes * request.ranks_per_node
    lines += [line for name in request.algorithms for line in contender_lines(name, ranks)] + [f"bytes {size}" for size in request.sizes]
    lines += [f"calls {options.calls}", f"check_up_to {options.check_up_to}", f"placement {options.placement}"]
    lines += [f"tuning {options.tuning.absolute()}"] if options.tuning else []
    lines += [f"late {options.late}"] if options.late else []
    lines += [f"setting {setting}" for setting in options.settings]
    lines += [f"machine.{name} {value:.15g}" for name, value in values.items()]
    return program_text([*lines, f"machine.transport.kind {KINDS.index(run.kind)}"])


def refused(request: Request, run: Run) -> Dict[Tuple[str, int], Answer]:
    """Returns an answer with the reason for every cell that the program is not asked for, because it would need too much memory."""
    ranks = run.nodes * request.ranks_per_node
    reasons = {(name, size): refusal(name, size, ranks) for name in request.algorithms for size in request.sizes}
    return {(name, size): {"algorithm": name, "bytes": size, "error": why} for (name, size), why in reasons.items() if why}


def simulate_run(request: Request, run: Run, collected: Collected, hear: Hear) -> None:
    """Simulates one run and adds its answers. Raises CliError if the program cannot do it."""
    answers, unasked = collected.answers.setdefault(run, {}), refused(request, run)
    done = len(collected.answers) - 1
    if len(unasked) == len(request.algorithms) * len(request.sizes):
        answers.update(unasked)
        return

    def take(answer: Answer) -> None:
        """Keeps a result, or passes on how far the run is."""
        if "progress" in answer:
            hear(done + min(answer["progress"], 1.0), words_of(request, run))
        else:
            answers[(answer["algorithm"], answer["bytes"])] = answer

    simulation = Simulation(simulation_program(), input_text(request, run), request.options.seconds)
    hear(done, words_of(request, run))
    code = simulation.run(take)
    if simulation.over:
        collected.time_over = True
    elif code == WRONG_DATA:
        collected.wrong.append(f"{words_of(request, run)}: {simulation.why(code)}")
    elif code == REFUSED and not answers:
        raise CliError(f"The simulation of {words_of(request, run)} was refused: {simulation.why(code)}")
    elif code:
        raise CliError(f"The simulation of {words_of(request, run)} failed: {simulation.why(code)}")
    answers.update(unasked)


def words_of(request: Request, run: Run) -> str:
    """Returns '128 nodes, favourable, ud', without what all runs have in common."""
    parts = [f"{run.nodes} node{'s' if run.nodes != 1 else ''}"]
    parts += [run.case] if len(request.cases) > 1 else []
    return ", ".join(parts + ([run.kind] if len(request.kinds) > 1 else []))


def with_time_left(request: Request, until: Optional[float]) -> Optional[Request]:
    """Returns the request with the seconds that are left, or None if there are none."""
    if until is None:
        return request
    left = until - time.monotonic()
    return replace(request, options=replace(request.options, seconds=left)) if left > 0 else None


def simulate(request: Request, hear: Hear = lambda done, words: None) -> Result:
    """Simulates all runs and returns the result. Ctrl-C, an error and the end of the time leave what came before."""
    collected = Collected()
    until = time.monotonic() + request.options.seconds if request.options.seconds is not None else None
    try:
        for run in runs_of(request):
            left = with_time_left(request, until)
            if left is None or collected.time_over:
                collected.time_over = True
                break
            simulate_run(left, run, collected, hear)
    except KeyboardInterrupt:
        collected.stopped = True
    except CliError as error:
        if not any(collected.answers.values()):
            raise
        collected.failed = str(error)
    return result_of(request, collected)


def merged(request: Request, collected: Collected) -> Tuple[List[Answer], List[Answer]]:
    """Returns a result for every cell, and an entry with the reason for every cell that no kind of transport can do.

    A cell that has no answer of some kind yet is left out: the fastest kind is not known there.
    """
    results, missing = [], []
    places = [(nodes, case) for nodes in request.nodes for case in request.cases]
    for nodes, case, size, name in [(*place, size, name) for place in places for size in request.sizes for name in request.algorithms]:
        found = {kind: collected.answers.get(Run(nodes, case, kind), {}).get((name, size)) for kind in request.kinds}
        if not all(found.values()):
            continue
        timed = {kind: answer["time_us"] for kind, answer in found.items() if "time_us" in answer}
        place = {"nodes": nodes, "case": case}
        if not timed:
            reasons = dict.fromkeys(answer["error"] for answer in found.values())
            missing.append({**place, "algorithm": name, "bytes": size, "error": "; ".join(reasons)})
            continue
        best = min(timed, key=lambda kind: timed[kind])
        also = {"transports": {kind: timed.get(kind) for kind in found}} if len(found) > 1 else {}
        results.append({**place, "transport": best, **found[best], **also})
    return results, missing


def result_of(request: Request, collected: Collected) -> Result:
    """Returns the result as --json writes it."""
    results, missing = merged(request, collected)
    machine, options = request.machine, request.options
    peers = {name: PEERS[name] for name in request.algorithms if name in PEERS}
    marks = {"stopped": collected.stopped, "time_over": collected.time_over, "failed": collected.failed, "wrong": collected.wrong}
    return {"format": FORMAT, "version": VERSION, "collective": request.collective, "date": datetime.date.today().isoformat(), "commit": commit(),
            "machine": {"name": machine.name, "about": machine.about, "file": machine.file.name, "values": {name: list(ends) for name, ends in machine.values.items()}},
            "transport": request.kind, "cases": request.cases, "nodes": list(request.nodes), "ranks_per_node": request.ranks_per_node,
            "algorithms": list(request.algorithms), "sizes": list(request.sizes), "calls": options.calls, "check_up_to": options.check_up_to,
            "placement": options.placement, **({"late": options.late} if options.late else {}), **({"settings": list(options.settings)} if options.settings else {}),
            **({"tuning": str(options.tuning)} if options.tuning else {}), **{mark: value for mark, value in marks.items() if value},
            **({"peers": peers} if peers else {}), "results": results, "missing": missing}
