"""Programs made smaller, always legal: without steps, without a rank, with simpler calls."""
import copy

from datatypes import ROOTED, bounds, row_key, side_form
from reductions import FORMS

DEVICE, CHUNKS = 5, 10  # They are the first and the last of device memory in areas.h.


def teams_of(program):
    teams = {0: {"groups": [list(range(program["ranks"]))], "inter": False}}
    for part in program["parts"]:
        for step in part:
            if step["op"] == "comm":
                teams[step["number"]] = step
    return teams


def peers_in(team, rank):
    for index, group in enumerate(team["groups"]):
        if rank in group:
            return team["groups"][index ^ 1] if team["inter"] else group
    return []


def _known(step):
    """Numbers that later steps may name."""
    if step["op"] == "message":
        return [step["number"], step["number"] + 1]
    return [step["number"]] if step["op"] in ("call", "other") else []


def normal(program):
    """Without steps that name what is no longer there."""
    teams, numbers, parts = {0}, set(), []
    for part in program["parts"]:
        kept = []
        for step in part:
            if step["op"] == "comm":
                if step["parent"] not in teams or not step["groups"]:
                    continue
                teams.add(step["number"])
            elif "team" in step and step["team"] not in teams:
                continue
            if "numbers" in step:
                step = {**step, "numbers": [number for number in step["numbers"] if number in numbers]}
                if not step["numbers"]:
                    continue
            if step["op"] == "free":
                teams.discard(step["team"])
            numbers.update(_known(step))
            kept.append(step)
        parts.append(kept)
    return {**program, "parts": [parts[0]] + [part for part in parts[1:] if part]}


def places_of(program):
    return [(i, k) for i, part in enumerate(program["parts"]) for k in range(len(part))]


def without_steps(program, places):
    gone = set(places)
    parts = [[step for k, step in enumerate(part) if (i, k) not in gone] for i, part in enumerate(program["parts"])]
    return normal({**program, "parts": parts})


def _renamed(step, gone):
    def new(rank):
        return rank - (rank > gone)
    for key in ("rank", "from", "to"):
        if key in step:
            step[key] = new(step[key])
    return step


def root_of(step, team, rank):
    """In whose communicator the rank is."""
    return next(root for root in step["roots"] if root == rank or root in peers_in(team, rank) or
                any(root in group and rank in group for group in team["groups"]))


def _with_other_root(step, team, gone):
    """Where the root goes, another rank of its group takes its row over."""
    if gone in step["roots"]:
        at, by_rank = step["roots"].index(gone), {member["rank"]: member for member in step["members"]}
        others = [rank for group in team["groups"] if gone in group for rank in group if rank != gone]
        row, own = row_key(step), "out" if row_key(step) == "in" else "in"
        step["roots"][at:at + 1] = others[:1]
        for heir in others[:1]:
            by_rank[heir][row] = by_rank[gone][row]
            by_rank[heir][own] = None if step["in_place"] else by_rank[heir][own]
    step["roots"] = [rank - (rank > gone) for rank in step["roots"]]


def _call_without(step, team, gone):
    members = []
    if step["form"] in ROOTED:
        _with_other_root(step, team, gone)
    for member in step["members"]:
        peers = peers_in(team, member["rank"])
        if member["rank"] == gone:
            continue
        if gone in peers and step["form"] in "vwhHT":
            at = peers.index(gone)
            for key in ("out", "in"):
                side = member[key]
                if side is not None and side_form(step, key) != "a":
                    del side["counts"][at], side["places"][at]
                    if step["form"] == "w":
                        del side["types"][at]
        members.append(_renamed(member, gone))
    step["members"] = members
    return step


def _comm_without(step, gone):
    groups = [[rank - (rank > gone) for rank in group if rank != gone] for group in step["groups"]]
    if step["inter"]:
        pairs = [pair for pair in zip(groups[::2], groups[1::2]) if pair[0] and pair[1]]
        groups = [group for pair in pairs for group in pair]
    step["groups"] = [group for group in groups if group]
    return step


def without_rank(program, gone):
    old = teams_of(program)
    program = copy.deepcopy(program)
    program["ranks"] -= 1
    if "devices" in program:
        without = program["devices"]["without"]
        program["devices"]["without"] = -1 if without == gone else without - (without > gone)
    for part in program["parts"]:
        for step in list(part):
            op = step["op"]
            if op == "call":
                _call_without(step, old[step["team"]], gone)
            elif op == "comm":
                _comm_without(step, gone)
            elif op == "set" and step["name"] == "CROSSRAIL_NODES" and step["value"] != "-":
                nodes = step["value"].split(",")
                step["value"] = ",".join(nodes[:gone] + nodes[gone + 1:])
            elif op == "message" and gone in (step["from"], step["to"]) or op in ("complete", "delay") and step["rank"] == gone:
                part.remove(step)
            elif op in ("message", "complete", "delay"):
                _renamed(step, gone)
    return normal(program)


def flat(kind):
    """The same signature without gaps; None where it is as simple as it gets."""
    if isinstance(kind, str):
        return None
    if kind[0] == "struct":
        parts = [part for length, _, part in kind[1] if length]
        if not parts or any(part != parts[0] for part in parts):
            return None
        part = parts[0]
    else:
        part = kind[-1]
    whole, each = bounds(kind).size, bounds(part).size
    if each == 0 or whole == 0:
        return None
    made = part if whole == each else ["contig", whole // each, part]
    return None if made == kind else made


def _one_behind_the_other(form, side):
    if form == "a":
        return side
    cursor, places = 0, []
    for i, count in enumerate(side["counts"]):
        found = bounds(side["types"][i if form == "w" else 0])
        step = found.extent if form == "v" else 1
        if count == 0 or found.first is None:
            places.append(0)
            continue
        place = -(-(cursor - found.first) // step)
        places.append(place)
        cursor = place * step + found.last + (count - 1) * found.extent
    side["places"] = places
    return side


def _in_bytes(form, side, scale):
    counts = []
    for i, count in enumerate(side["counts"]):
        counts.append(scale(count * bounds(side["types"][i if form == "w" else 0]).size))
    types = ["byte"] * len(side["types"])
    return _one_behind_the_other(form, {"types": types, "counts": counts, "places": side["places"]})


def _each_side(step):
    return [(member, key) for member in step["members"] for key in ("out", "in") if member[key] is not None]


def _changed(step, change):
    made = copy.deepcopy(step)
    change(made)
    return made


def _bytes_with(scale):
    def change(step):
        for member, key in _each_side(step):
            member[key] = _in_bytes(side_form(step, key), member[key], scale)
    return change


def in_bytes(step, times):
    """The same data as bytes one behind the other, or so many times as much."""
    return _changed(step, _bytes_with(lambda number: number * times))


def _plain(step):
    step["large"] = False
    for member in step["members"]:
        member.update(out_kind=0, in_kind=0, flags=0)


def _on_plain_devices(step):
    """What lies in device memory lies in allocations of its own."""
    for member in step["members"]:
        for key in ("out_kind", "in_kind"):
            member[key] = DEVICE if member[key] >= DEVICE else member[key]


def _flattened(index, at):
    def change(step):
        member, key = _each_side(step)[index]
        side = member[key]
        simple = flat(side["types"][at])
        side["types"][at] = simple
        _one_behind_the_other(side_form(step, key), side)
    return change


def _simpler_reductions(step):
    if step["form"] not in FORMS:
        return []
    count = step["count"]
    found = []
    for fewer in (lambda n: min(n, 1), lambda n: min(n, 16), lambda n: n // 2, lambda n: max(n - 1, 0)):
        found.append({**copy.deepcopy(step), "count": [fewer(one) for one in count] if step["form"] == "t" else fewer(count)})
    return found


def simpler_calls(step):
    """Copies of the step, each simpler in one way."""
    found = _simpler_reductions(step)
    found += [_changed(step, _bytes_with(scale)) for scale in (lambda n: min(n, 1), lambda n: min(n, 16), lambda n: n // 2 if n > 1 else n,
                                                              lambda n: n - 1 if n > 1 else n, lambda n: n)]
    found += [_changed(step, _plain), _changed(step, _on_plain_devices)]
    for index, (member, key) in enumerate(_each_side(step)):
        for at, kind in enumerate(member[key]["types"]):
            if flat(kind) is not None:
                found.append(_changed(step, _flattened(index, at)))
    if step["mode"][0] in "nq":
        found.insert(0, {**copy.deepcopy(step), "mode": "b"})
    return [made for made in found if made != step]


def simpler_steps(step):
    if step["op"] == "call":
        return simpler_calls(step)
    found = []
    if step["op"] in ("message", "other") and step["bytes"] > 0:
        found = [{**step, "bytes": 0}, {**step, "bytes": step["bytes"] // 2}]
    if step["op"] == "complete" and len(step["numbers"]) > 1:
        found = [{**step, "numbers": step["numbers"][:i] + step["numbers"][i + 1:]} for i in range(len(step["numbers"]))]
    return found
