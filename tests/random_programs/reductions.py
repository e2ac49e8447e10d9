"""What MPI_Allreduce, MPI_Reduce_scatter_block and MPI_Reduce_scatter may combine: MPI's operations on the types for which the standard defines them, and
operations of the program's own."""

KINDS = {  # The names are without MPI_, as tests/mpi/reduction_types.c has them.
    "integer": "SIGNED_CHAR SHORT INT LONG LONG_LONG UNSIGNED_CHAR UNSIGNED_SHORT UNSIGNED UNSIGNED_LONG UNSIGNED_LONG_LONG INT8_T INT16_T "
               "INT32_T INT64_T UINT8_T UINT16_T UINT32_T UINT64_T",
    "no truth": "AINT OFFSET COUNT INTEGER INTEGER1 INTEGER2 INTEGER4 INTEGER8", "byte": "BYTE",
    "real": "FLOAT DOUBLE LONG_DOUBLE REAL REAL4 REAL8 DOUBLE_PRECISION",
    "complex": "C_FLOAT_COMPLEX C_DOUBLE_COMPLEX C_LONG_DOUBLE_COMPLEX C_COMPLEX COMPLEX COMPLEX8 COMPLEX16 DOUBLE_COMPLEX",
    "logical": "C_BOOL LOGICAL",
    "pair": "FLOAT_INT DOUBLE_INT LONG_INT 2INT SHORT_INT LONG_DOUBLE_INT 2INTEGER 2REAL 2DOUBLE_PRECISION",
}
ARITHMETIC, ORDER, LOGIC, BITS = ["sum", "product"], ["minimum", "maximum"], ["and", "or", "xor"], ["band", "bor", "bxor"]
OPERATIONS = {"integer": ARITHMETIC + ORDER + LOGIC + BITS, "no truth": ARITHMETIC + ORDER + BITS, "byte": BITS, "real": ARITHMETIC + ORDER,
              "complex": ARITHMETIC, "logical": LOGIC, "pair": ["minloc", "maxloc"]}
OWN = {  # These are the program's, by their types; reductions.c says what they do.
    "affine": ["contig", 2, "unsigned"], "first": "int", "add": "long",
    "gapped": ["resized", 0, 16, ["struct", [[1, 0, "unsigned"], [1, 8, "uint16"]]]],
}
COUNTS = [0, 1, 1, 2, 3, 5, 7, 14, 15, 64, 100, 500, 1000, 5000]
LARGE = 40000
FORMS = "rst"  # In t the count is one for each rank of the largest group.


def counts_of_blocks(random, count, ranks):
    """For a reduce_scatter: some empty, some much longer than others."""
    return [random.choice([0, 1, count // 10, count, count]) if random.random() < 0.8 else 0 for _ in range(ranks)]


def kind_of(element):
    return next(kind for kind, names in KINDS.items() if element in names.split())


def random_reduction(random, avoided, ordered):
    """What a step of form r or s has beside the others; of t, its counts are made of the one that is here. Small numbers: where the MPI library does others wrong. `ordered`: crossrail is
    to combine in the order of the ranks."""
    count = random.choice(COUNTS) if random.random() < 0.98 else LARGE
    if ordered and random.random() < 0.5:
        return {"operation": "sum", "element": random.choice(["FLOAT", "REAL", "REAL4"]), "numbers": "rounding", "count": count}
    if random.random() < 0.15:
        operation = random.choice(sorted(OWN))
        return {"operation": operation, "element": OWN[operation], "numbers": "all", "count": count}
    kind = random.choice(sorted(KINDS) + ["integer", "integer", "real"])
    element, operation = random.choice(KINDS[kind].split()), random.choice(OPERATIONS[kind])
    numbers = "small" if f"{operation} of {element}" in avoided else "all"
    return {"operation": operation, "element": element, "numbers": numbers, "count": count}
