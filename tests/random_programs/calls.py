"""One random call of MPI_Alltoall, v or w, MPI_Allgather or v, MPI_Allreduce, MPI_Reduce_scatter or its _block, MPI_Gather or v, MPI_Scatter
or v: what each rank passes, so that all of it fits together."""
import copy

from datatypes import EXTENTS, ROOTED, SIZES, bounds
from random_types import UNITS, random_type
from reductions import FORMS, counts_of_blocks, random_reduction

ELEMENTS = [0, 1, 1, 2, 3, 4, 6, 8, 12, 12, 24, 60, 120, 240, 720, 2520]
ABSOLUTE_OUT, ABSOLUTE_IN, TYPES_FREED_EARLY, NULL_WHEN_EMPTY = 1, 2, 4, 8
HEAP, BEFORE_FORBIDDEN_PAGE, SHARED, READ_ONLY, BEHIND_FORBIDDEN_PAGE = range(5)


def pairs_of(team):
    """[(rank, its peers), ...], by ranks of the world."""
    groups = team["groups"]
    found = []
    for index, group in enumerate(groups):
        peers = groups[index ^ 1] if team["inter"] else group
        found += [(rank, peers) for rank in group]
    return found


def _usable_type(random, unit, elements, overlaps):
    """With an extent by which blocks can be placed one behind the other."""
    while True:
        kind, count = random_type(random, unit, elements, overlaps)
        if bounds(kind).extent > 0:
            return kind, count


def _column(random, unit, elements, blocks):
    """A column of a matrix, as transpositions have it: elements lie between each other's."""
    rows = random.choice([i for i in (1, 2, 3, 4, 6, 12) if elements % i == 0])
    count = elements // rows
    columns = max(1, blocks * count + random.randrange(2))
    name = unit[0]
    return ["resized", 0, bounds(name).extent, ["vector", rows, 1, columns, name]], count


def _plain_side(random, unit, elements, blocks, sends):
    if len(unit) == 1 and elements > 0 and random.random() < 0.1:
        kind, count = _column(random, unit, elements, blocks)
    else:
        kind, count = random_type(random, unit, elements, sends)
        while bounds(kind).extent <= 0:
            kind, count = random_type(random, unit, elements, sends)
    return {"types": [kind], "counts": [count], "places": None}


def _place(random, blocks, together):
    """Bytes from the base of blocks [(first, last) or None, ...], in a random order with gaps; `together`: all at one place."""
    order = list(range(len(blocks)))
    if random.random() < 0.5:
        random.shuffle(order)
    places, cursor = [0] * len(blocks), 0
    for i in order:
        if blocks[i] is None:
            places[i] = random.choice([0, -1234567, 99999])
            continue
        first, last, step = blocks[i]
        place = -(-(cursor - first) // step) * step + step * random.choice([0, 0, 0, 1, 2])
        places[i] = place
        if not together:
            cursor = place + last
    return places


def _vector_side(random, kind, counts, sends):
    found = bounds(kind)
    blocks = []
    for count in counts:
        empty = count == 0 or found.first is None
        blocks.append(None if empty else (found.first, found.last + (count - 1) * found.extent, found.extent))
    places = _place(random, blocks, sends and random.random() < 0.15)
    shift = random.choice([0, 0, 0, random.randrange(-5, 6)])
    places = [place // found.extent - shift if block else place for place, block in zip(places, blocks)]
    return {"types": [kind], "counts": counts, "places": places}


def _typed_side(random, kinds, counts, sends, fixed):
    blocks = []
    for kind, count in zip(kinds, counts):
        found = bounds(kind)
        empty = count == 0 or found.first is None
        blocks.append(None if empty else (found.first, found.last + (count - 1) * found.extent, random.choice([8, 8, 4, 1])))
    places = [0] * len(kinds) if fixed else _place(random, blocks, sends and random.random() < 0.15)
    return {"types": kinds, "counts": counts, "places": places}


class Amounts:
    """Units in the block between any two ranks, and which units: the same to both."""

    def __init__(self, random, in_place, unit, units):
        self.random, self.in_place, self.unit, self.units = random, in_place, unit, units
        self.pattern = random.choice("ddsszoe")
        self.granule = random.choice([1, 1, 2, 4, 6, 12, 24])
        self.largest = random.choice([3, 30, 30, 30, 300]) if random.random() < 0.95 else 3000
        self.known, self.rows = {}, {}

    def _choose(self, source, target):
        random, any_number = self.random, self.random.randint(0, self.largest)
        lot = random.random()
        if self.pattern == "s":
            any_number = any_number if lot > 0.8 else 0
        elif self.pattern == "z" and not self.in_place:
            any_number = any_number if self.rows.setdefault(source, random.randrange(2)) else 0
        elif self.pattern == "o":
            any_number = any_number % 3 if lot < 0.9 else 10 * any_number
        elif self.pattern == "e":
            any_number = 0
        return any_number, random.choice(self.units)

    def between(self, source, target):
        pair = (min(source, target), max(source, target)) if self.in_place else (source, target)
        if pair not in self.known:
            self.known[pair] = self._choose(*pair)
        return self.known[pair]


def _side(making, step, amounts, pairs, sends):
    random = making.random
    blocks = [amounts.between(*pair) for pair in pairs]
    if step["form"] == "v":
        kind, each = _usable_type(random, amounts.unit, amounts.granule, sends)
        return _vector_side(random, kind, [number * each for number, _ in blocks], sends)
    kinds, counts = [], []
    for number, unit in blocks:
        kind, each = _usable_type(random, unit, amounts.granule, sends)
        kinds.append(kind)
        counts.append(number * each)
    # Open MPI takes the displacements for elements where there is one rank.
    return _typed_side(random, kinds, counts, sends, len(pairs) == 1 and "displacements_alone" in making.avoided)


def _gathered_side(making, step, amounts, ranks, sends):
    """Of the v forms in which a rank has one block, whoever gets it: those of several ranks, or the only one of one rank."""
    random = making.random
    kind, each = _usable_type(random, amounts.unit, amounts.granule, sends)
    if step["form"] == "h" and "types_of_unequal_sizes" in making.avoided and each > 1:
        kind, each = ["contig", each, kind], 1
    counts = [amounts.between(rank, rank)[0] * each for rank in ranks]
    return _vector_side(random, kind, counts, sends)


def _own_side(making, step, amounts, rank, sends):
    side = _gathered_side(making, step, amounts, [rank], sends)
    return {**side, "places": None}


def _rooted_sides(making, step, rank, peers, amounts):
    """None where arguments mean nothing, and where the root's block is in place."""
    gathers, elements, unit = step["form"] in "GH", *amounts.known.get("all", (0, None))
    root = next((root for root in step["roots"] if root in peers or root == rank), None)
    overlaps, blocks = (False, making.ranks) if "own_block_alone" in making.avoided else (gathers, 1)
    own = row = None
    if root in peers and not (step["in_place"] and rank == root):
        own = _plain_side(making.random, unit, elements, blocks, overlaps) if step["form"] in "GS" else _own_side(making, step, amounts, rank, overlaps)
    if rank == root:
        row = _plain_side(making.random, unit, elements, len(peers), not gathers) if step["form"] in "GS" else \
            _gathered_side(making, step, amounts, peers, not gathers)
    return [own, row] if gathers else [row, own]


def _member(making, step, rank, peers, amounts):
    random = making.random
    kinds = [HEAP, HEAP, HEAP, BEFORE_FORBIDDEN_PAGE, SHARED, BEHIND_FORBIDDEN_PAGE]
    # A reduction has one type, the same on all ranks.
    flags = 0 if step["form"] in FORMS else random.choice([0] * 8 + [ABSOLUTE_OUT, ABSOLUTE_IN, ABSOLUTE_IN | ABSOLUTE_OUT])
    flags |= random.choice([0, 0, TYPES_FREED_EARLY])
    if step["mode"] == "p" and "freed_types" in making.avoided:
        flags &= ~TYPES_FREED_EARLY
    if "null_when_empty" not in making.avoided:
        flags |= random.choice([0, 0, 0, NULL_WHEN_EMPTY])
    member = {"rank": rank, "out_kind": random.choice(kinds + [READ_ONLY]), "in_kind": random.choice(kinds), "flags": flags}
    if step["form"] in FORMS:
        sides = [None, None]
    elif step["form"] in "ag":
        elements, unit = amounts.known["all"]
        sides = [_plain_side(random, unit, elements, len(peers), sends) for sends in (True, False)]
    elif step["form"] == "h":
        sides = [_own_side(making, step, amounts, rank, True), _gathered_side(making, step, amounts, peers, False)]
    elif step["form"] in ROOTED:
        sides = _rooted_sides(making, step, rank, peers, amounts)
    else:
        sides = [_side(making, step, amounts, [(rank, peer) for peer in peers], True),
                 _side(making, step, amounts, [(peer, rank) for peer in peers], False)]
    member["out"] = None if step["in_place"] and step["form"] not in ROOTED else sides[0]
    member["in"] = sides[1]
    return member


def _mode(making, number):
    modes = "bbbnnnn"
    if "persistent" not in making.avoided and not making.teams[number]["inter"]:
        modes += "pp"
    return making.random.choice(modes)


def _in_place(making, step, team):
    if team["inter"] or making.random.random() > 0.2:
        return False
    if step["form"] in FORMS or step["form"] in ROOTED:
        return True
    if step["mode"] == "b" or step["form"] in "agh":
        return "typed_in_place" not in making.avoided
    return making.opens_at_once and team["opened"] and "in_place" not in making.avoided


def _roots(random, team):
    """One for every communicator, by ranks of the world."""
    groups = team["groups"]
    if team["inter"]:
        groups = [groups[i] + groups[i + 1] for i in range(0, len(groups), 2)]
    return [random.choice(group) for group in groups]


def random_call(making, number, forms="aaavvvwwggghhhrrrsssttt" + ROOTED):
    random, team = making.random, making.teams[number]
    units = [unit for unit in UNITS if unit[0] not in making.avoided]
    unit = random.choice(units)
    step = {"op": "call", "number": making.take_number(), "team": number, "form": random.choice(forms),
            "mode": _mode(making, number)}
    if step["form"] in "aw" and step["mode"] != "b" and (team["inter"] and "typed_between_groups" in making.avoided or
                                                         team.get("grid") and "typed_on_grids" in making.avoided):
        step["form"] = "v"
    if step["form"] in "gh" and team["inter"] and "gather_between_groups" in making.avoided:
        step["form"] = "r"
    if step["form"] == "h" and "allgatherv_alone" in making.avoided and min(len(group) for group in team["groups"]) == 1:
        step["form"] = "H"
    if step["form"] in "HT" and team["inter"] and "typed_between_groups" in making.avoided:
        step["form"] = {"H": "G", "T": "S"}[step["form"]]
    if step["form"] in "gh" + ROOTED and step["mode"] == "p" and "persistent_gather" in making.avoided:
        step["mode"] = "n"
    if step["form"] in "st" and team["inter"]:
        step["form"] = "r"  # Between groups of two sizes it takes other counts.
    if step["form"] in ROOTED:
        step["roots"] = _roots(random, team)
    step["in_place"] = _in_place(making, step, team)
    step["large"] = random.random() < 0.25
    if step["form"] in FORMS:
        step.update(random_reduction(random, making.avoided, team.get("ordered", False) and step["mode"] == "b"))
    if step["form"] == "t":
        step["count"] = counts_of_blocks(random, step["count"], max(len(group) for group in team["groups"]))
    if step["form"] in "GS" and "gaps_in_trees" in making.avoided:
        units = [unit for unit in units if len(unit) == 1 and EXTENTS[unit[0]] == SIZES[unit[0]]]
        unit = random.choice(units)
    amounts = Amounts(random, step["in_place"], unit, units if step["form"] == "w" else [unit])
    elements = random.choice(ELEMENTS) if random.random() < 0.96 else 12 * 1024
    if step["form"] in "agGS":
        amounts.known["all"] = (elements, unit)
    step["members"] = [_member(making, step, rank, peers, amounts) for rank, peers in pairs_of(team)]
    return step


def calls_of_a_late_root(making, number):
    """Some one behind the other, in which ranks that are not the root may be ahead of it."""
    random, steps = making.random, []
    for _ in range(random.choice([1, 3, 6, 12])):
        if steps and random.random() < 0.6:
            step = {**copy.deepcopy(steps[-1]), "number": making.take_number()}
        else:
            step = random_call(making, number, ROOTED)
        if random.random() < 0.3:
            yield {"op": "delay", "rank": random.choice(step["roots"]), "us": random.choice([10, 100, 1000, 5000]), "computes": random.randrange(2)}
        steps.append(step)
        yield step
