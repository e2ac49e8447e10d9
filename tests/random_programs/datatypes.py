"""Datatypes as nested lists, and what bytes they mean.

A type is the name of a predefined one, or a list [way, numbers..., part]:
["contig", count, part]                      ["vector" or "hvector", count, length, stride, part]
["indexed" or "hindexed", [[length, place], ...], part]       ["iblock", length, [place, ...], part]
["struct", [[length, place, part], ...]]     ["subarray", "C" or "F", all, some, first, part]
["resized", lower, extent, part]             ["dup", part]
"""

SIZES = {"byte": 1, "char": 1, "short": 2, "int": 4, "unsigned": 4, "long": 8, "float": 4, "double": 8, "int8": 1, "uint16": 2,
         "int64": 8, "aint": 8, "complex": 16, "2int": 8, "double_int": 12, "short_int": 6, "float_int": 8, "bool": 1}
EXTENTS = {**SIZES, "double_int": 16, "short_int": 8}
TRUE_EXTENTS = {**SIZES, "double_int": 12, "short_int": 8}


class Bounds:
    """Lower and upper bound as MPI has them; first and last the bytes that are touched, None of none."""

    def __init__(self, lower=None, upper=None, first=None, last=None, size=0):
        self.lower, self.upper, self.first, self.last, self.size = lower, upper, first, last, size

    @property
    def extent(self):
        return self.upper - self.lower

    def add(self, part, at, copies=1):
        """Copies of a part from `at` on, one behind the other."""
        if copies == 0:
            return
        span = (copies - 1) * part.extent
        low, high = at + min(0, span), at + max(0, span)
        self.lower = min(v for v in (self.lower, low + part.lower) if v is not None)
        self.upper = max(v for v in (self.upper, high + part.upper) if v is not None)
        if part.first is not None:
            self.first = min(v for v in (self.first, low + part.first) if v is not None)
            self.last = max(v for v in (self.last, high + part.last) if v is not None)
        self.size += copies * part.size

    def closed(self):
        if self.lower is None:
            self.lower = self.upper = 0
        return self


def part_of(kind):
    return None if isinstance(kind, str) or kind[0] == "struct" else kind[-1]


def _placed(kind, part):
    """[(place in bytes, copies), ...] of the part."""
    way, extent = kind[0], part.extent
    if way == "contig":
        return [(0, kind[1])]
    if way in ("vector", "hvector"):
        step = kind[3] * (extent if way == "vector" else 1)
        return [(i * step, kind[2]) for i in range(kind[1])]
    if way in ("indexed", "hindexed"):
        return [(place * (extent if way == "indexed" else 1), length) for length, place in kind[1]]
    if way == "iblock":
        return [(place * extent, kind[1]) for place in kind[2]]
    if way == "subarray":
        everything, some, first = kind[2:5]
        slow, fast = (0, 1) if kind[1] == "C" else (1, 0)
        return [(((first[slow] + i) * everything[fast] + first[fast]) * extent, some[fast]) for i in range(some[slow])]
    return [(0, 1)]


def bounds(kind):
    if isinstance(kind, str):
        return Bounds(0, EXTENTS[kind], 0, TRUE_EXTENTS[kind], SIZES[kind])
    found = Bounds()
    if kind[0] == "struct":
        for length, place, part in kind[1]:
            found.add(bounds(part), place, length)
        return found.closed()
    part = bounds(kind[-1])
    for place, copies in _placed(kind, part):
        found.add(part, place, copies)
    found.closed()
    if kind[0] == "resized":
        found.lower, found.upper = kind[1], kind[1] + kind[2]
    if kind[0] == "subarray":
        found.lower, found.upper = 0, kind[2][0] * kind[2][1] * part.extent
    return found


def words(kind):
    """As the interpreter reads it."""
    if isinstance(kind, str):
        return [kind]
    way = kind[0]
    if way in ("indexed", "hindexed"):
        return [way, len(kind[1])] + [v for pair in kind[1] for v in pair] + words(kind[2])
    if way == "iblock":
        return [way, len(kind[2]), kind[1]] + kind[2] + words(kind[3])
    if way == "struct":
        found = [way, len(kind[1])]
        for length, place, part in kind[1]:
            found += [length, place] + words(part)
        return found
    if way == "subarray":
        return [way, kind[1]] + kind[2] + kind[3] + kind[4] + words(kind[5])
    return list(kind[:-1]) + words(kind[-1])


def runs(kind):
    """[(offset, bytes), ...] in the order of a message."""
    if isinstance(kind, str):
        return {"short_int": [(0, 2), (4, 4)]}.get(kind, [(0, SIZES[kind])])
    if kind[0] == "struct":
        copies = [(place + i * bounds(part).extent, part) for length, place, part in kind[1] for i in range(length)]
    else:
        part = bounds(kind[-1])
        copies = [(place + i * part.extent, kind[-1]) for place, length in _placed(kind, part) for i in range(length)]
    found = []
    for at, part in copies:
        for offset, length in runs(part):
            if found and found[-1][0] + found[-1][1] == at + offset:
                found[-1] = (found[-1][0], found[-1][1] + length)
            else:
                found.append((at + offset, length))
    return found


ROOTED = "GHST"  # They are MPI_Gather, v, MPI_Scatter, v.


def row_key(step):
    """Of a call with a root: which side is the root's alone, a block for every rank. The other side is one block."""
    return "in" if step["form"] in "GH" else "out"


def side_form(step, key):
    """How a side of a call, out or in, says what it is: one type and count (a), a count for every block (v), or a type, too (w)."""
    if step["form"] in "hHT":
        return "v" if key == ("out" if step["form"] == "T" else "in") else "a"
    return step["form"] if step["form"] in "vw" else "a"


def blocks_of(step, key, peers):
    """How many a side has on a rank with so many peers."""
    own = "out" if step["form"] in "gh" else {"in": "out", "out": "in"}[row_key(step)] if step["form"] in ROOTED else None
    return 1 if key == own else peers


def block_runs(form, side, i):
    kind = side["types"][i if form == "w" else 0]
    count, extent = side["counts"][0 if form == "a" else i], bounds(kind).extent
    at = i * side["counts"][0] * extent if form == "a" else side["places"][i] * (extent if form == "v" else 1)
    return [(at + k * extent + offset, length) for k in range(count) for offset, length in runs(kind)]


def paired(source, target):
    """[(from, to, bytes), ...] of two lists of runs of the same bytes."""
    found, source, target = [], [list(run) for run in source], [list(run) for run in target]
    while source and target:
        length = min(source[0][1], target[0][1])
        found.append((source[0][0], target[0][0], length))
        for runs_left in (source, target):
            runs_left[0][0] += length
            runs_left[0][1] -= length
            if runs_left[0][1] == 0:
                runs_left.pop(0)
    joined = []
    for a, b, n in found:
        if joined and joined[-1][0] + joined[-1][2] == a and joined[-1][1] + joined[-1][2] == b:
            joined[-1] = (joined[-1][0], joined[-1][1], joined[-1][2] + n)
        else:
            joined.append((a, b, n))
    return joined


def reach(form, side, blocks):
    found = [run for i in range(blocks) for run in block_runs(form, side, i)]
    return min((at for at, _ in found), default=0), max((at + n for at, n in found), default=0)
