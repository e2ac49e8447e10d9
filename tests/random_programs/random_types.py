"""Random layouts of a given signature."""
from datatypes import SIZES, bounds

UNITS = [[name] for name in SIZES] + [["char", "double", "int"], ["int", "int", "int"], ["double"], ["int"], ["byte"]]


def _unit(random, unit):
    """One unit: a predefined type, or some of them somewhere."""
    if len(unit) == 1:
        return unit[0]
    if unit == ["int", "int", "int"]:
        if random.random() < 0.5:
            return ["contig", 3, "int"]
        return ["resized", -8, 12 + 4 * random.randrange(3), ["iblock", 1, [0, -2, -1], "int"]]
    places = random.choice([[0, 8, 16], [0, 1, 9], [12, 4, 0]])
    return ["resized", 0, 24 + 8 * random.randrange(2), ["struct", [[1, place, name] for place, name in zip(places, unit)]]]


def _covering(random, kind):
    """With bounds that cover all bytes, and a multiple of 8 as extent: some ways leave it to the alignment of the machine."""
    found = bounds(kind)
    low = min(v for v in (found.lower, found.first) if v is not None)
    high = max(v for v in (found.upper, found.last) if v is not None)
    low -= 8 * random.randrange(2) + low % 8
    return ["resized", low, (high - low + 7) // 8 * 8 + 8 * random.randrange(3), kind]


def _scattered(random, parts, part):
    extent, stride = bounds(part).extent, random.randrange(1, 4)
    order = list(range(parts))
    if random.random() < 0.7:
        random.shuffle(order)
    places = [place * stride - (stride > 1) for place in order]
    way = random.randrange(3)
    if way == 0:
        return ["iblock", 1, places, part]
    pairs = [[1, place] for place in places]
    if random.random() < 0.2:
        pairs.insert(random.randrange(parts + 1), [0, random.randrange(-5, 50)])
    if way == 1:
        return ["indexed", pairs, part]
    odd = random.randrange(3) if random.random() < 0.3 else 0
    pairs = [[length, place * (extent + odd)] for length, place in pairs]
    return _covering(random, ["hindexed", pairs, part])


def _fields(random, parts, part):
    """A struct: the parts in a few fields."""
    fields, place, left = [], 8 * random.randrange(-2, 3), parts
    found = bounds(part)
    while left > 0:
        length = random.randint(1, left)
        fields.append([length, place - found.lower, part])
        place += found.extent * length + 8 * random.randrange(3)
        left -= length
    if random.random() < 0.5:
        random.shuffle(fields)
    return _covering(random, ["struct", fields])


def _subarray(random, parts, part):
    rows = random.choice([i for i in range(1, parts + 1) if parts % i == 0])
    some = [rows, parts // rows]
    first = [random.randrange(2), random.randrange(3)]
    everything = [some[0] + first[0] + random.randrange(2), some[1] + first[1]]
    return ["subarray", random.choice("CF"), everything, some, first, part]


def _strided(random, parts, part, overlaps):
    length = random.choice([i for i in (1, 2, 3) if parts % i == 0])
    extent = bounds(part).extent
    if overlaps and random.random() < 0.25:
        return ["hvector", parts, 1, 0, part]
    if random.random() < 0.5:
        return ["vector", parts // length, length, length + random.randrange(3), part]
    return ["hvector", parts // length, length, (length + random.randrange(2)) * extent, part]


def _shifted(random, parts, part):
    row = ["contig", parts, part]
    found, align = bounds(row), 16 * random.randrange(3)
    return ["resized", found.lower - align, found.extent + align + 16 * random.randrange(3), row]


def random_type(random, unit, elements, overlaps):
    """(type, count): `count` of it are `elements` times the unit. `overlaps`: it may name the same byte twice."""
    kind, count = _unit(random, unit), elements
    for _ in range(random.choice([0, 0, 0, 1, 1, 2, 3])):
        divisors = [i for i in range(1, 60) if count % i == 0] if count > 0 else [random.randrange(1, 5)]
        parts = random.choice(divisors)
        way = random.randrange(8)
        if way == 0:
            kind = ["contig", parts, kind]
        elif way in (1, 2):
            kind = _strided(random, parts, kind, overlaps)
        elif way in (3, 4):
            kind = _scattered(random, parts, kind)
        elif way == 5:
            kind = _subarray(random, parts, kind)
        elif way == 6:
            kind = _fields(random, parts, kind)
        else:
            kind = _shifted(random, parts, kind)
        if random.random() < 0.1:
            kind = ["dup", kind]
        count //= parts
    return kind, count
