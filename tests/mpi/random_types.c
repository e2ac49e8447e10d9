#include "random_types.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMostParts = 64 };

typedef struct {
  char letter;
  double number;
  int whole;
} Mixed;

static MPI_Datatype predefined_unit(int unit) {
  const MPI_Datatype types[] = {
      MPI_BYTE,       MPI_CHAR,         MPI_SIGNED_CHAR,      MPI_SHORT,    MPI_INT,        MPI_UNSIGNED,
      MPI_LONG,       MPI_LONG_LONG,    MPI_FLOAT,            MPI_DOUBLE,   MPI_LONG_DOUBLE, MPI_C_BOOL,
      MPI_INT8_T,     MPI_UINT16_T,     MPI_INT64_T,          MPI_AINT,     MPI_C_DOUBLE_COMPLEX,
      MPI_2INT,       MPI_DOUBLE_INT,   MPI_SHORT_INT,        MPI_FLOAT_INT, MPI_C_LONG_DOUBLE_COMPLEX};
  return unit < (int)(sizeof types / sizeof types[0]) ? types[unit] : MPI_DATATYPE_NULL;
}

static int is_complex_long_double(int unit) { return predefined_unit(unit) == MPI_C_LONG_DOUBLE_COMPLEX; }

int has_gaps(int unit) {
  const MPI_Datatype type = predefined_unit(unit);
  return type == MPI_DOUBLE_INT || type == MPI_SHORT_INT || (type == MPI_DATATYPE_NULL && unit % 2 == 0);
}

int has_long_double(int unit) { return predefined_unit(unit) == MPI_LONG_DOUBLE || is_complex_long_double(unit); }

/* Makes (char, double, int) as C lays it out, packed tight, or in another order in memory. */
static MPI_Datatype mixed_unit(Random* random) {
  const int lengths[3] = {1, 1, 1};
  const MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
  const MPI_Aint places[3][3] = {
      {offsetof(Mixed, letter), offsetof(Mixed, number), offsetof(Mixed, whole)}, {0, 1, 9}, {12, 4, 0}};
  MPI_Datatype made, resized;
  const int which = random_below(random, 3);
  MPI_Type_create_struct(3, lengths, places[which], types, &made);
  MPI_Type_create_resized(made, 0, (MPI_Aint)sizeof(Mixed) + random_below(random, 2) * 8, &resized);
  MPI_Type_free(&made);
  return resized;
}

/* Makes three ints, two of which lie before the address. */
static MPI_Datatype triple_unit(Random* random) {
  MPI_Datatype made, resized;
  if (random_below(random, 2) == 0) {
    MPI_Type_contiguous(3, MPI_INT, &made);
    return made;
  }
  const int places[3] = {0, -2, -1};
  MPI_Type_create_indexed_block(3, 1, places, MPI_INT, &made);
  MPI_Type_create_resized(made, -8, 12 + 4 * random_below(random, 3), &resized);
  MPI_Type_free(&made);
  return resized;
}

static MPI_Datatype unit_type(Random* random, int unit, int* predefined) {
  const MPI_Datatype type = predefined_unit(unit);
  *predefined = type != MPI_DATATYPE_NULL;
  if (*predefined) return type;
  return unit % 2 == 0 ? mixed_unit(random) : triple_unit(random);
}

static void shuffle(Random* random, int* values, int count) {
  for (int i = count - 1; i > 0; --i) {
    const int j = random_below(random, i + 1), kept = values[i];
    values[i] = values[j];
    values[j] = kept;
  }
}

/* Puts parts in random order, with random gaps between them. */
static MPI_Datatype scattered(Random* random, int parts, MPI_Datatype part, int in_bytes) {
  int order[kMostParts], lengths[kMostParts], places[kMostParts];
  MPI_Aint bytes[kMostParts], lower, extent;
  MPI_Type_get_extent(part, &lower, &extent);
  const int stride = 1 + random_below(random, 3);
  for (int i = 0; i < parts; ++i) {
    order[i] = i;
    lengths[i] = 1;
  }
  shuffle(random, order, parts);
  for (int i = 0; i < parts; ++i) {
    places[i] = order[i] * stride - (stride > 1);
    bytes[i] = places[i] * extent;
  }
  MPI_Datatype made;
  if (in_bytes) {
    MPI_Type_create_hindexed(parts, lengths, bytes, part, &made);
  } else if (random_below(random, 2) == 0) {
    MPI_Type_indexed(parts, lengths, places, part, &made);
  } else {
    MPI_Type_create_indexed_block(parts, 1, places, part, &made);
  }
  return made;
}

static MPI_Datatype sub_array(Random* random, int parts, MPI_Datatype part) {
  int rows = 1;
  for (int i = 2; i < parts; ++i) {
    if (parts % i == 0) rows = i;
  }
  const int wanted[2] = {rows, parts / rows};
  const int from[2] = {random_below(random, 2), random_below(random, 3)};
  const int all[2] = {wanted[0] + from[0] + random_below(random, 2), wanted[1] + from[1]};
  MPI_Datatype made;
  MPI_Type_create_subarray(2, all, wanted, from, random_below(random, 2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, part, &made);
  return made;
}

static MPI_Datatype shifted(Random* random, int parts, MPI_Datatype part) {
  MPI_Datatype row, made;
  MPI_Aint lower, extent;
  MPI_Type_contiguous(parts, part, &row);
  MPI_Type_get_extent(row, &lower, &extent);
  const MPI_Aint align = 16 * random_below(random, 3);
  MPI_Type_create_resized(row, lower - align, extent + align + 16 * random_below(random, 3), &made);
  MPI_Type_free(&row);
  return made;
}

static MPI_Datatype strided(Random* random, int parts, MPI_Datatype part, int may_overlap) {
  MPI_Datatype made;
  MPI_Aint lower, extent;
  MPI_Type_get_extent(part, &lower, &extent);
  const int block = parts % 2 == 0 && random_below(random, 2) ? 2 : 1;
  if (may_overlap && random_below(random, 4) == 0) {
    MPI_Type_create_hvector(parts, 1, 0, part, &made); /* All elements share the same memory. */
  } else if (random_below(random, 2) == 0) {
    MPI_Type_vector(parts / block, block, block + random_below(random, 3), part, &made);
  } else {
    MPI_Type_create_hvector(parts / block, block, (block + random_below(random, 2)) * extent, part, &made);
  }
  return made;
}

static const char* const kWays[] = {"contiguous", "strided",  "indexed", "hindexed",
                                    "subarray",   "shifted", "duplicate"};

static MPI_Datatype wrap(Random* random, int way, int parts, MPI_Datatype part, int may_overlap) {
  MPI_Datatype made, row;
  switch (way) {
    case 1: return strided(random, parts, part, may_overlap);
    case 2: return scattered(random, parts, part, 0);
    case 3: return scattered(random, parts, part, 1);
    case 4: return sub_array(random, parts, part);
    case 5: return shifted(random, parts, part);
    case 6:
      MPI_Type_contiguous(parts, part, &row);
      MPI_Type_dup(row, &made);
      MPI_Type_free(&row);
      return made;
    default: MPI_Type_contiguous(parts, part, &made); return made;
  }
}

static int random_divisor(Random* random, int number) {
  int divisors[kMostParts], found = 0;
  for (int i = 1; i < kMostParts && i <= number; ++i) {
    if (number % i == 0) divisors[found++] = i;
  }
  return found == 0 ? 1 : divisors[random_below(random, found)];
}

Layout random_layout(Random* random, int unit, int elements, int may_overlap) {
  Layout layout = {.count = elements};
  layout.type = unit_type(random, unit, &layout.predefined);
  int length = snprintf(layout.text, sizeof layout.text, "unit %d", unit);
  /* Open MPI 4.1, 5.0 and MPICH 4.0 themselves send derived types of complex long doubles wrongly. */
  const int deepest = is_complex_long_double(unit) ? 1 : 4;
  for (int depth = random_below(random, deepest); depth > 0; --depth) {
    const int way = random_below(random, 7);
    const int parts = random_divisor(random, layout.count);
    const MPI_Datatype made = wrap(random, way, parts, layout.type, may_overlap);
    if (!layout.predefined) MPI_Type_free(&layout.type);
    layout.type = made;
    layout.predefined = 0;
    layout.count /= parts;
    length += snprintf(layout.text + length, sizeof layout.text - (size_t)length, " > %d %s", parts, kWays[way]);
  }
  if (!layout.predefined) MPI_Type_commit(&layout.type);
  return layout;
}

void free_layout(Layout* layout) {
  if (!layout->predefined) MPI_Type_free(&layout->type);
}

void reach(const Layout* layout, int blocks, MPI_Aint* lowest, MPI_Aint* end) {
  MPI_Aint lower, extent, true_lower, true_extent;
  MPI_Type_get_extent(layout->type, &lower, &extent);
  MPI_Type_get_true_extent(layout->type, &true_lower, &true_extent);
  const MPI_Aint last = extent * (MPI_Aint)(blocks * layout->count - 1);
  *lowest = *end = 0;
  if (layout->count == 0 || blocks == 0) return;
  *lowest = true_lower + (last < 0 ? last : 0);
  *end = true_lower + true_extent + (last > 0 ? last : 0);
}
