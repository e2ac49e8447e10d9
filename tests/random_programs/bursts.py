"""Calls in a stream's order, of crossrail's own interface: some one behind the other, with nobody waiting between them, or in a graph that
is launched again and again. Where there is no crossrail, or it refuses one, that one is MPI's blocking call (calls.c)."""
import random as random_numbers

from calls import TYPES_FREED_EARLY, NULL_WHEN_EMPTY, random_call
from datatypes import ROOTED
from generate import Making
from smaller import CHUNKS, DEVICE, in_bytes

LISTS_OUT, LISTS_IN = 16, 32  # These are of exchanges.h.
STREAMS = 3
LARGEST = 1 << 20


def _making(program, avoided):
    """To go on with a program that is made."""
    making = Making(program["seed"] * 11 + 5, program["ranks"], avoided, 1)
    numbers = [step["number"] for part in program["parts"] for step in part if step["op"] != "comm" and "number" in step]
    making.number = max(numbers, default=0) + 2  # A message has two.
    return making


def _outstanding(steps):
    """What may not have ended, in numbers that `complete` takes."""
    found = []
    for step in steps:
        if step["op"] == "message":
            found += [step["number"], step["number"] + 1]
        elif step["op"] == "other" and step["kind"].startswith("i") or step["op"] == "call" and step["mode"] == "n":
            found.append(step["number"])
        elif step["op"] == "start":
            found += step["numbers"]
    return sorted(set(found))


def _largest(step):
    sides = [member[key] for member in step["members"] for key in ("out", "in") if member[key] is not None]
    return max((count for side in sides for count in side["counts"]), default=0)


def _dense(random, step):
    """Bytes in a row, which crossrail takes; sometimes many."""
    step = in_bytes(step, 1)
    scale = random.choice([1, 1, 1, 1, 16, 200])
    return in_bytes(step, scale) if 0 < _largest(step) * scale < LARGEST else step


def _queued(making, team, captured):
    """A call in the stream of its communicator."""
    random = making.random
    while (step := random_call(making, team))["mode"] != "b" or step["form"] in "wht" + ROOTED:
        continue
    step["mode"] = f"q{captured or team % STREAMS}"
    dense = random.random() < 0.85
    if dense:
        step = _dense(random, step)
    for member in step["members"]:
        if dense:
            member["flags"] &= TYPES_FREED_EARLY | NULL_WHEN_EMPTY
        if captured:
            member["flags"] &= ~TYPES_FREED_EARLY  # It may be made again.
        if step["form"] == "v":
            member["flags"] |= random.choice([0, LISTS_OUT, LISTS_IN, LISTS_OUT | LISTS_IN])
    return step


def _in_one_allocation(step):
    """Where counts lie on the device, a chunk is an allocation (crossrail.h)."""
    for member in step["members"]:
        for key in ("out_kind", "in_kind"):
            if member[key] % 100 == CHUNKS:
                member[key] += DEVICE - CHUNKS


def _burst(making, teams, place):
    random = making.random
    captured = random.choice([0, 0, 1, 2])
    steps = [{"op": "capture", "stream": captured}] if captured else []
    for _ in range(random.choice([1, 2, 5, 12, 25])):
        if random.random() < 0.1:
            steps.append({"op": "delay", "rank": random.randrange(-1, making.ranks), "us": random.choice([10, 100, 1000, 5000]), "computes": 0})
        step = _queued(making, random.choice(teams), captured)
        place(step)
        if step["form"] == "v":
            _in_one_allocation(step)
        steps.append(step)
    return steps + [{"op": "launch", "times": random.choice([1, 2, 5])} if captured else {"op": "drain"}]


def put_bursts_into(program, avoided, place):
    """Into the part that runs alone, with all else ended before: what a stream waits for may hold the rank outside of MPI. `place` says
    where the sides of a call lie."""
    making = _making(program, avoided)
    random, part = making.random, program["parts"][0]
    # This goes from the last one on, so that none comes into another: a communicator's calls would be in two streams.
    for at in sorted((random.randint(0, len(part)) for _ in range(random.choice([0, 0, 1, 1, 2, 3]))), reverse=True):
        teams = {0}
        for step in part[:at]:
            if step["op"] == "comm" and not step["inter"] and step["how"] != "oneself":
                teams.add(step["number"])
                making.teams[step["number"]] = {"groups": step["groups"], "inter": False, "opened": True}
            elif step["op"] == "free":
                teams.discard(step["team"])
        numbers = _outstanding(part[:at])
        ends = [{"op": "complete", "rank": -1, "how": "waitall", "numbers": numbers}] if numbers else []
        part[at:at] = ends + _burst(making, sorted(teams), place)
