"""Reductions of a program as C: elements as C has them, their operations written out, and what results must be."""
from reductions import FORMS, OWN, kind_of

FORTRAN = {"INTEGER": "int", "INTEGER1": "signed char", "INTEGER2": "short", "INTEGER4": "int", "INTEGER8": "long", "REAL": "float",
           "REAL4": "float", "REAL8": "double", "DOUBLE_PRECISION": "double", "COMPLEX": "float _Complex", "COMPLEX8": "float _Complex",
           "COMPLEX16": "double _Complex", "DOUBLE_COMPLEX": "double _Complex", "LOGICAL": "int"}
OF_C = {"C_BOOL": "_Bool", "C_COMPLEX": "float _Complex", "BYTE": "unsigned char", "LONG_LONG": "long long", "OFFSET": "MPI_Offset",
        "AINT": "MPI_Aint", "COUNT": "MPI_Count"}
PAIRS = {"FLOAT_INT": ("float", "int"), "DOUBLE_INT": ("double", "int"), "LONG_INT": ("long", "int"), "2INT": ("int", "int"),
         "SHORT_INT": ("short", "int"), "LONG_DOUBLE_INT": ("long double", "int"), "2INTEGER": ("int", "int"), "2REAL": ("float", "float"),
         "2DOUBLE_PRECISION": ("double", "double")}
MPI_OPS = {"sum": "SUM", "product": "PROD", "minimum": "MIN", "maximum": "MAX", "and": "LAND", "or": "LOR", "xor": "LXOR", "band": "BAND",
           "bor": "BOR", "bxor": "BXOR", "minloc": "MINLOC", "maxloc": "MAXLOC"}
RESULTS = {"sum": "x + y", "product": "x * y", "minimum": "x < y ? x : y", "maximum": "x > y ? x : y", "and": "x && y", "or": "x || y",
           "xor": "!x != !y", "band": "x & y", "bor": "x | y", "bxor": "x ^ y",
           "minloc": "x.a < y.a || (x.a == y.a && x.b < y.b) ? x : y", "maxloc": "x.a > y.a || (x.a == y.a && x.b < y.b) ? x : y"}
OWN_ROWS = {  # They are the type, a value of it from a random word w, and the result of x and y.
    "affine": ("struct {unsigned a, b;}", "{(unsigned)w, (unsigned)(w >> 32)}", "(T){x.a * y.a, x.b * y.a + y.b}"),
    "first": ("int", "(int)w", "x"), "add": ("long", "(long)w", "(T)((unsigned long)x + (unsigned long)y)"),
    "gapped": ("struct {unsigned a; char gap[4]; unsigned short b; char rest[6];}", "{.a = (unsigned)w, .b = (unsigned short)(w >> 32)}",
               "(T){.a = x.a + y.a, .b = x.b ^ y.b}"),
}
COMMUTES = {"add", "gapped"}


def _c_type(element):
    if element in PAIRS:
        return "struct {%s a; %s b;}" % PAIRS[element]
    plain = FORTRAN.get(element) or OF_C.get(element)
    if plain:
        return plain
    name = element[:-2].lower() + "_t" if element.endswith("_T") else element.replace("_", " ").lower()
    return name.removeprefix("c ").replace("complex", "_Complex")


def _value(element, small):
    small_number = "(w & 1 ? 1 : -1) * (long)(1 + (w >> 8) % 3)"
    return {"real": small_number, "complex": f"{small_number} + ((w >> 20) % 3 + 1.0f) * (float _Complex)_Complex_I", "logical": "w & 1",
            "pair": f"{{{small_number}, (w >> 20) % 100}}"}.get(kind_of(element), "(T)(w % 4)" if small else "(T)w")


def _name(step):
    element = "" if step["operation"] in OWN else "_" + step["element"]
    return f"{step['operation']}{element}{'_small' if step['numbers'] == 'small' else ''}"


def definitions(program):
    """For every operation and type of the program what the prologue's REDUCTION makes of it."""
    found = {}
    for step in (step for part in program["parts"] for step in part if step["op"] == "call" and step["form"] in FORMS):
        operation, element = step["operation"], step["element"]
        if operation in OWN:
            kind, value, result = OWN_ROWS[operation]
            pair = kind.startswith("struct")
        else:
            kind, value, result, pair = _c_type(element), _value(element, step["numbers"] == "small"), RESULTS[operation], element in PAIRS
        same = "x.a == y.a && x.b == y.b" if pair else "x == y"
        found[_name(step)] = (f"#define T T_{_name(step)}\ntypedef {kind} T;\nstatic inline T value_{_name(step)}(unsigned long w) {{ T v = {value}; "
                              f"return v; }}\nstatic inline T of_{_name(step)}(T x, T y) {{ return {result}; }}\n#undef T\nREDUCTION({_name(step)}, {same})\n")
    return "\n".join(found.values())


class Reduced:
    """What a rank says of one call; `say` takes a line, `type_of` makes a datatype and tells its name."""

    def __init__(self, step, member, peers, rank):
        self.step, self.member, self.peers, self.name, self.number = step, member, peers, _name(step), step["number"]
        self.index = peers.index(rank) if rank in peers else 0  # Between groups there is no scatter.

    def _counts(self):
        """Of every block that is scattered, or of the only one."""
        if self.step["form"] == "t":
            return self.step["count"][:len(self.peers)]
        return [self.step["count"]] * (len(self.peers) if self.step["form"] == "s" else 1)

    def _own(self):
        """This rank's block: its first element, and how many."""
        counts, index = self._counts(), self.index if self.step["form"] in "st" else 0
        return sum(counts[:index]), counts[index]

    def _elements(self, sends):
        return sum(self._counts()) if sends or self.step["in_place"] else self._own()[1]

    def arguments(self, say, type_of):
        step, number, addresses = self.step, self.number, ["MPI_IN_PLACE"]
        for key in ("out", "in")[int(step["in_place"]):]:
            say(f"Area {key}{number} = area({self.member[key + '_kind']}, 0, {self._elements(key == 'out')} * (long)sizeof(T_{self.name}));")
            addresses.append("NULL" if self.member["flags"] & 8 and self._elements(key == "out") == 0 else f"{key}{number}.base")
        kind, operation = f"MPI_{step['element']}", f"MPI_{MPI_OPS.get(step['operation'])}"
        if step["operation"] in OWN:
            kind, operation = type_of(step["element"], ""), f"op{number}"
            say(f"MPI_Op {operation};")
            say(f"MPI_Op_create(user_{self.name}, {int(step['operation'] in COMMUTES)}, &{operation});")
        counts = step["count"]
        if step["form"] == "t":
            say(f"static int counts{number}[] = {{{', '.join(str(one) for one in self._counts())}}};")
            counts = f"counts{number}"
        return f"{addresses[-2]}, {addresses[-1]}, {counts}, {kind}, {operation}"

    def fill(self, say):
        if not self.step["in_place"]:
            say(f"fill(&out{self.number}, {self.number}, rank, 0);")
            say(f"put_{self.name}(&out{self.number}, {self.number}, rank, {self._elements(True)});")
        say(f"fill(&in{self.number}, {self.number}, rank, 1);")
        if self.step["in_place"]:
            say(f"put_{self.name}(&in{self.number}, {self.number}, rank, {self._elements(False)});")

    def check(self, say):
        first, count = self._own()
        ranks = ", ".join(str(peer) for peer in self.peers)
        say(f"check_{self.name}(&in{self.number}, {self.number}, (int[]){{{ranks}}}, {len(self.peers)}, {first}, {count}, "
            f"{self._elements(False)});")


PROLOGUE = r"""
#include <complex.h>
#include <stdint.h>
/* Elements T_NAME of a call: element `at` of a rank is value_NAME(word(call, rank, at)), and of_NAME combines two, that of the lower rank
 * first. Integers wrap: to be compiled with -fwrapv. */
static inline unsigned long word(int call, int rank, long at) {
  unsigned long w = 0x9e3779b97f4a7c15ul * (unsigned long)(at + 1000003l * rank + 7919l * call + 99);
  w = (w ^ (w >> 30)) * 0xbf58476d1ce4e5b9ul;
  return w ^ (w >> 27);
}
static inline int guards_are_right(const Area* area, int call, long used) {
  for (unsigned char* at = area->memory; at < area->memory + area->bytes; ++at)
    if ((at < area->base || at >= area->base + used) && *at != number(call, my_rank(), 1, at - area->base)) return 0;
  return 1;
}
#define REDUCTION(name, same)                                                                                \
  static inline void put_##name(const Area* area, int call, int rank, long count) {                          \
    for (long i = 0; i < count; ++i) ((T_##name*)area->base)[i] = value_##name(word(call, rank, i));         \
  }                                                                                                          \
  static inline void user_##name(void* in, void* inout, int* count, MPI_Datatype* type) {                    \
    (void)type;                                                                                              \
    for (int i = 0; i < *count; ++i) ((T_##name*)inout)[i] = of_##name(((T_##name*)in)[i], ((T_##name*)inout)[i]); \
  }                                                                                                          \
  static inline void check_##name(const Area* area, int call, int* ranks, int count_of_ranks, long first, long count, long used) { \
    long bad = -1;                                                                                           \
    for (long i = 0; i < count && bad < 0; ++i) {                                                            \
      T_##name x = ((T_##name*)area->base)[i], y = value_##name(word(call, ranks[count_of_ranks - 1], first + i)); \
      for (int k = count_of_ranks - 2; k >= 0; --k) y = of_##name(value_##name(word(call, ranks[k], first + i)), y); \
      if (!(same)) bad = i;                                                                                  \
    }                                                                                                        \
    if (bad < 0 && guards_are_right(area, call, used * (long)sizeof(T_##name))) return;                      \
    printf("WRONG: rank %d, step %d: element %ld\n", my_rank(), call, bad);                                  \
    wrong = 1;                                                                                               \
  }
"""
