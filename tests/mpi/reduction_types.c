#include "reduction_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char* const op_names[kOps] = {"sum", "product", "minimum", "maximum", "and", "or", "xor", "band", "bor", "bxor", "minloc", "maxloc"};

MPI_Op op_of(int op) {
  const MPI_Op all[kOps] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
  return all[op];
}

#define TYPES(X)                                                                                                             \
  X(SIGNED_CHAR, kInteger, 1, 0, 0, 0, 0) X(SHORT, kInteger, 2, 0, 0, 0, 0) X(INT, kInteger, 4, 0, 0, 0, 0)                   \
  X(LONG, kInteger, 8, 0, 0, 0, 0) X(LONG_LONG, kInteger, 8, 0, 0, 0, 0) X(UNSIGNED_CHAR, kInteger, 1, 0, 1, 0, 0)            \
  X(UNSIGNED_SHORT, kInteger, 2, 0, 1, 0, 0) X(UNSIGNED, kInteger, 4, 0, 1, 0, 0) X(UNSIGNED_LONG, kInteger, 8, 0, 1, 0, 0)   \
  X(UNSIGNED_LONG_LONG, kInteger, 8, 0, 1, 0, 0) X(INT8_T, kInteger, 1, 0, 0, 0, 0) X(INT16_T, kInteger, 2, 0, 0, 0, 0)       \
  X(INT32_T, kInteger, 4, 0, 0, 0, 0) X(INT64_T, kInteger, 8, 0, 0, 0, 0) X(UINT8_T, kInteger, 1, 0, 1, 0, 0)                 \
  X(UINT16_T, kInteger, 2, 0, 1, 0, 0) X(UINT32_T, kInteger, 4, 0, 1, 0, 0) X(UINT64_T, kInteger, 8, 0, 1, 0, 0)              \
  X(BYTE, kByte, 1, 0, 0, 0, 0) X(AINT, kFortranInteger, 8, 0, 0, 0, 0) X(OFFSET, kFortranInteger, 8, 0, 0, 0, 0)             \
  X(COUNT, kFortranInteger, 8, 0, 0, 0, 0) X(FLOAT, kReal, 4, 0, 0, 0, 0) X(DOUBLE, kReal, 8, 0, 0, 0, 0)                     \
  X(LONG_DOUBLE, kReal, 16, 0, 0, 0, 0) X(C_BOOL, kLogical, 1, 0, 0, 0, 0) X(C_FLOAT_COMPLEX, kComplex, 8, 4, 0, 0, 0)        \
  X(C_DOUBLE_COMPLEX, kComplex, 16, 8, 0, 0, 0) X(C_LONG_DOUBLE_COMPLEX, kComplex, 32, 16, 0, 0, 0)                           \
  X(C_COMPLEX, kComplex, 8, 4, 0, 0, 0) X(FLOAT_INT, kPair, 8, 4, 0, 4, 4) X(DOUBLE_INT, kPair, 12, 8, 0, 8, 4)               \
  X(LONG_INT, kPair, 12, 8, 1, 8, 4) X(2INT, kPair, 8, 4, 1, 4, 4) X(SHORT_INT, kPair, 6, 2, 1, 4, 4)                         \
  X(LONG_DOUBLE_INT, kPair, 20, 16, 0, 16, 4)                                                                                \
  X(INTEGER, kFortranInteger, 4, 0, 0, 0, 0) X(INTEGER1, kFortranInteger, 1, 0, 0, 0, 0)                                      \
  X(INTEGER2, kFortranInteger, 2, 0, 0, 0, 0) X(INTEGER4, kFortranInteger, 4, 0, 0, 0, 0)                                     \
  X(INTEGER8, kFortranInteger, 8, 0, 0, 0, 0) X(REAL, kReal, 4, 0, 0, 0, 0) X(REAL4, kReal, 4, 0, 0, 0, 0)                    \
  X(REAL8, kReal, 8, 0, 0, 0, 0) X(DOUBLE_PRECISION, kReal, 8, 0, 0, 0, 0) X(COMPLEX, kComplex, 8, 4, 0, 0, 0)                \
  X(COMPLEX8, kComplex, 8, 4, 0, 0, 0) X(COMPLEX16, kComplex, 16, 8, 0, 0, 0)                                                 \
  X(DOUBLE_COMPLEX, kComplex, 16, 8, 0, 0, 0) X(LOGICAL, kLogical, 4, 0, 0, 0, 0)                                             \
  X(2INTEGER, kPair, 8, 4, 1, 4, 4) X(2REAL, kPair, 8, 4, 0, 4, -4) X(2DOUBLE_PRECISION, kPair, 16, 8, 0, 8, -8)

#define FUNCTION(name, ...) \
  static MPI_Datatype type_##name(void) { return MPI_##name; }
TYPES(FUNCTION)
#define ROW(name, kind, ...) {#name, type_##name, kind, __VA_ARGS__, 0, {0}},
TypeRow type_rows[] = {TYPES(ROW)};
const int type_row_count = (int)(sizeof type_rows / sizeof type_rows[0]);

int defined_for(const TypeRow* row, int op) {
  const int arithmetic = op == kSum || op == kProduct, order = op == kMinimum || op == kMaximum;
  const int logical = op == kAnd || op == kOr || op == kXor, bits = op == kBitAnd || op == kBitOr || op == kBitXor;
  switch (row->kind) {
    case kInteger: return arithmetic || order || logical || bits;
    case kFortranInteger: return arithmetic || order || bits;
    case kByte: return bits;
    case kReal: return arithmetic || order;
    case kComplex: return arithmetic;
    case kLogical: return logical;
    case kPair: return op == kMinimumPlace || op == kMaximumPlace;
  }
  return 0;
}

/* Returns how many bytes of a floating-point number mean something: the rest of a long double is padding. */
static size_t meant(int bytes) { return bytes == 16 ? 10 : (size_t)bytes; }

static void put_real(void* at, int bytes, double value) {
  const float single = (float)value;
  const long double extended = value;
  if (bytes == 4) memcpy(at, &single, 4);
  if (bytes == 8) memcpy(at, &value, 8);
  if (bytes == 16) memcpy(at, &extended, meant(16));
}

static double small(Random* random) {
  const int value = 1 + random_below(random, 3);
  return random_below(random, 2) ? value : -value;
}

static double uneven(Random* random) { return small(random) * random_below(random, 1000000) / 7.0; }

static void put_whole(void* at, int bytes, long long wide) {
  memcpy(at, &wide, (size_t)bytes);
}

void fill_element(const TypeRow* row, void* at, Random* random, Numbers numbers) {
  unsigned char* const bytes = at;
  switch (row->kind) {
    case kInteger:
    case kFortranInteger:
    case kByte:
      if (numbers == kTame) {
        put_whole(at, row->bytes, random_below(random, 4));
        break;
      }
      for (int i = 0; i < row->bytes; ++i) bytes[i] = (unsigned char)random_below(random, 256);
      if (random_below(random, 4) == 0) memset(at, 0, (size_t)row->bytes);
      break;
    case kReal: put_real(at, row->bytes, numbers == kRounding ? uneven(random) : small(random)); break;
    case kComplex:
      put_real(at, row->value, small(random));
      put_real(bytes + row->value, row->value, small(random));
      break;
    case kLogical: put_whole(at, row->bytes, random_below(random, 2)); break;
    case kPair:
      if (row->whole) put_whole(at, row->value, (int)small(random));
      else put_real(at, row->value, small(random));
      if (row->second > 0) put_whole(bytes + row->place, row->second, random_below(random, 100));
      else put_real(bytes + row->place, -row->second, random_below(random, 100));
  }
}

static long long get_whole(const void* at, int bytes, int is_unsigned) {
  unsigned long long value = 0;
  memcpy(&value, at, (size_t)bytes);
  const int unused = 64 - 8 * bytes;
  return is_unsigned ? (long long)(value << unused >> unused) : (long long)(value << unused) >> unused;
}

static long double get_real(const void* at, int bytes) {
  float single = 0;
  double plain = 0;
  long double extended = 0;
  if (bytes == 4) memcpy(&single, at, 4);
  if (bytes == 8) memcpy(&plain, at, 8);
  if (bytes == 16) memcpy(&extended, at, meant(16));
  return single + plain + extended;
}

static long long combine_whole(int op, long long a, long long b, int is_unsigned) {
  const unsigned long long x = (unsigned long long)a, y = (unsigned long long)b;
  const int less = is_unsigned ? x < y : a < b;
  switch (op) {
    case kSum: return (long long)(x + y);
    case kProduct: return (long long)(x * y);
    case kMinimum: return less ? a : b;
    case kMaximum: return less ? b : a;
    case kAnd: return a && b;
    case kOr: return a || b;
    case kXor: return !a != !b;
    case kBitAnd: return a & b;
    case kBitOr: return a | b;
    default: return a ^ b;
  }
}

static void combine_pair(const TypeRow* row, int op, const unsigned char* a, unsigned char* b) {
  const int second = row->second > 0 ? row->second : -row->second;
  const long double x = row->whole ? get_whole(a, row->value, 0) : get_real(a, row->value);
  const long double y = row->whole ? get_whole(b, row->value, 0) : get_real(b, row->value);
  const long double i = row->second > 0 ? get_whole(a + row->place, second, 0) : get_real(a + row->place, second);
  const long double j = row->second > 0 ? get_whole(b + row->place, second, 0) : get_real(b + row->place, second);
  const int first = x == y ? i < j : op == kMinimumPlace ? x < y : x > y;
  if (!first) return;
  memcpy(b, a, row->whole ? (size_t)row->value : meant(row->value));
  memcpy(b + row->place, a + row->place, (size_t)second);
}

void combine_element(const TypeRow* row, int op, const void* first, void* second) {
  const unsigned char* const a = first;
  unsigned char* const b = second;
  switch (row->kind) {
    case kReal: {
      const long double x = get_real(a, row->bytes), y = get_real(b, row->bytes);
      put_real(b, row->bytes, (double)(op == kSum ? x + y : op == kProduct ? x * y : (op == kMinimum) == (x < y) ? x : y));
      return;
    }
    case kComplex: {
      const int part = row->value;
      const long double x = get_real(a, part), xi = get_real(a + part, part), y = get_real(b, part), yi = get_real(b + part, part);
      put_real(b, part, (double)(op == kSum ? x + y : x * y - xi * yi));
      put_real(b + part, part, (double)(op == kSum ? xi + yi : x * yi + xi * y));
      return;
    }
    case kPair: combine_pair(row, op, a, b); return;
    default: {
      const int is_unsigned = row->whole || row->kind == kLogical;
      put_whole(b, row->bytes, combine_whole(op, get_whole(a, row->bytes, is_unsigned), get_whole(b, row->bytes, is_unsigned), is_unsigned));
    }
  }
}

static void clear_padding(unsigned char* at, int bytes) {
  if (bytes == 16) memset(at + meant(16), 0, 16 - meant(16));
  if (get_real(at, bytes) == 0) put_real(at, bytes, 0); /* The sign of a zero depends on the order, too. */
}

void forget_padding(const TypeRow* row, void* element) {
  unsigned char* const at = element;
  if (row->kind == kReal) clear_padding(at, row->bytes);
  if (row->kind == kComplex) {
    clear_padding(at, row->value);
    clear_padding(at + row->value, row->value);
  }
  if (row->kind == kPair && !row->whole) clear_padding(at, row->value);
}

/* Returns whether MPI_Reduce_local agrees, in elements that differ in every way. */
static int library_is_right(const TypeRow* row, int op) {
  enum { kCount = 64 };
  MPI_Aint lower, extent;
  MPI_Type_get_extent(row->type(), &lower, &extent);
  unsigned char* const rows = calloc(3, kCount * (size_t)extent);
  unsigned char* const other = rows + kCount * extent;
  unsigned char* const expected = other + kCount * extent;
  Random random = random_from(11);
  for (int i = 0; i < 2 * kCount; ++i) fill_element(row, rows + i * extent, &random, kAll);
  memcpy(expected, other, kCount * (size_t)extent);
  MPI_Reduce_local(rows, other, kCount, row->type(), op_of(op));
  int right = 1;
  for (int i = 0; i < kCount; ++i) {
    combine_element(row, op, rows + i * extent, expected + i * extent);
    forget_padding(row, expected + i * extent);
    forget_padding(row, other + i * extent);
  }
  right = memcmp(expected, other, kCount * (size_t)extent) == 0;
  free(rows);
  return right;
}

void look_at_types(int speak) {
  for (int i = 0; i < type_row_count; ++i) {
    TypeRow* const row = &type_rows[i];
    int bytes = 0;
    if (row->type() != MPI_DATATYPE_NULL) MPI_Type_size(row->type(), &bytes);
    row->there = bytes == row->bytes;
    if (!row->there && speak) fprintf(stderr, "this MPI has no MPI_%s of %d bytes\n", row->name, row->bytes);
    for (int op = 0; op < kOps && row->there; ++op) {
      row->tame[op] = defined_for(row, op) && !library_is_right(row, op);
      if (row->tame[op] && speak) fprintf(stderr, "this MPI itself is wrong: %s of MPI_%s\n", op_names[op], row->name);
    }
  }
}
