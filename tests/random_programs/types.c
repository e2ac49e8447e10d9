#include "types.h"

#include <stdlib.h>
#include <string.h>

enum { kMostParts = 256 };

typedef struct {
  const char* name;
  MPI_Datatype type;
  int first, gap, second; /* They are bytes, a gap and more bytes. */
} Predefined;

static const Predefined* predefined(const char* name) {
  static Predefined all[24];
  if (all[0].name == NULL) {
    const Predefined filled[] = {
        {"byte", MPI_BYTE, 1, 0, 0}, {"char", MPI_CHAR, 1, 0, 0}, {"short", MPI_SHORT, 2, 0, 0}, {"int", MPI_INT, 4, 0, 0},
        {"unsigned", MPI_UNSIGNED, 4, 0, 0}, {"long", MPI_LONG, 8, 0, 0}, {"float", MPI_FLOAT, 4, 0, 0},
        {"double", MPI_DOUBLE, 8, 0, 0}, {"int8", MPI_INT8_T, 1, 0, 0}, {"uint16", MPI_UINT16_T, 2, 0, 0},
        {"int64", MPI_INT64_T, 8, 0, 0}, {"aint", MPI_AINT, 8, 0, 0}, {"complex", MPI_C_DOUBLE_COMPLEX, 16, 0, 0},
        {"2int", MPI_2INT, 8, 0, 0}, {"double_int", MPI_DOUBLE_INT, 12, 4, 0}, {"short_int", MPI_SHORT_INT, 2, 2, 4},
        {"float_int", MPI_FLOAT_INT, 8, 0, 0}, {"bool", MPI_C_BOOL, 1, 0, 0}};
    memcpy(all + 1, filled + 1, sizeof filled - sizeof filled[0]);
    all[0] = filled[0];
  }
  for (const Predefined* one = all; one->name != NULL; ++one) {
    if (strcmp(one->name, name) == 0) return one;
  }
  return NULL;
}

void add_run(Runs* runs, int64_t offset, int64_t bytes) {
  if (bytes == 0) return;
  if (runs->count > 0) {
    Run* last = &runs->run[runs->count - 1];
    if (last->offset + last->bytes == offset) {
      last->bytes += bytes;
      return;
    }
  }
  if (runs->count == runs->room) {
    runs->room = 2 * runs->room + 4;
    runs->run = realloc(runs->run, runs->room * sizeof *runs->run);
  }
  runs->run[runs->count++] = (Run){offset, bytes};
}

/* Bounds of a type without any copy of a part are 0, as MPI has it. */
typedef struct {
  Type type;
  int any;
} Whole;

static void add_copies(Whole* whole, const Type* part, int64_t at, int64_t copies) {
  for (int64_t i = 0; i < copies; ++i) {
    const int64_t offset = at + i * extent_of(part);
    const int64_t lower = offset + part->lower, upper = offset + part->upper;
    if (!whole->any || lower < whole->type.lower) whole->type.lower = lower;
    if (!whole->any || upper > whole->type.upper) whole->type.upper = upper;
    whole->any = 1;
    for (size_t k = 0; k < part->runs.count; ++k) {
      add_run(&whole->type.runs, offset + part->runs.run[k].offset, part->runs.run[k].bytes);
    }
  }
}

/* Every other type is made with large counts where the MPI library has these: it says less of such types. (The C programs that shrink.py prints have
 * ints.) */
#if MPI_VERSION >= 4
enum { kHasLarge = 1 };
#else
enum { kHasLarge = 0 };
#define MPI_Type_contiguous_c(...) (void)0
#define MPI_Type_vector_c(...) (void)0
#define MPI_Type_create_hvector_c(...) (void)0
#define MPI_Type_create_indexed_block_c(...) (void)0
#define MPI_Type_create_hindexed_c(...) (void)0
#define MPI_Type_indexed_c(...) (void)0
#define MPI_Type_create_struct_c(...) (void)0
#define MPI_Type_create_subarray_c(...) (void)0
#define MPI_Type_create_resized_c(...) (void)0
#endif
static int made;
/* Calls the function that makes a type, or the other one. */
#define MAKE(with_ints, with_large)                  \
  do {                                               \
    if (kHasLarge && made++ % 2 != 0) with_large;    \
    else with_ints;                                  \
  } while (0)

static Type read_any(Script* script, int wanted);

static void drop_part(Type* part) { free_type(part); }

static Type leaf(const Predefined* known, int wanted) {
  Type type = {.made = wanted ? known->type : MPI_DATATYPE_NULL, .predefined = 1};
  type.upper = known->first + known->gap + known->second;
  add_run(&type.runs, 0, known->first);
  add_run(&type.runs, known->first + known->gap, known->second);
  return type;
}

/* This reads contig COUNT, vector or hvector COUNT LENGTH STRIDE, then the part. */
static Type regular(Script* script, const char* how, int wanted) {
  Whole whole = {.type = {.made = MPI_DATATYPE_NULL}};
  const int64_t count = next_number(script);
  const int contiguous = strcmp(how, "contig") == 0, in_bytes = strcmp(how, "hvector") == 0;
  const int64_t length = contiguous ? 1 : next_number(script), stride = contiguous ? 1 : next_number(script);
  Type part = read_any(script, wanted);
  for (int64_t i = 0; i < count; ++i) add_copies(&whole, &part, i * stride * (in_bytes ? 1 : extent_of(&part)), length);
  MPI_Datatype* const to = &whole.type.made;
  if (wanted && contiguous) MAKE(MPI_Type_contiguous((int)count, part.made, to), MPI_Type_contiguous_c(count, part.made, to));
  if (wanted && in_bytes) {
    MAKE(MPI_Type_create_hvector((int)count, (int)length, stride, part.made, to), MPI_Type_create_hvector_c(count, length, stride, part.made, to));
  }
  if (wanted && !contiguous && !in_bytes) {
    MAKE(MPI_Type_vector((int)count, (int)length, (int)stride, part.made, to), MPI_Type_vector_c(count, length, stride, part.made, to));
  }
  drop_part(&part);
  return whole.type;
}

/* This reads indexed or hindexed PARTS (LENGTH PLACE)..., iblock PARTS LENGTH PLACE..., then the part. */
static Type irregular(Script* script, const char* how, int wanted) {
  Whole whole = {.type = {.made = MPI_DATATYPE_NULL}};
  int lengths[kMostParts], places[kMostParts];
  MPI_Aint bytes[kMostParts];
  MPI_Count large_lengths[kMostParts], large_places[kMostParts];
  const int parts = (int)next_number(script), one_length = strcmp(how, "iblock") == 0, in_bytes = strcmp(how, "hindexed") == 0;
  if (parts > kMostParts) give_up("%d parts of a type", parts);
  const int length = one_length ? (int)next_number(script) : 0;
  for (int i = 0; i < parts; ++i) {
    lengths[i] = one_length ? length : (int)next_number(script);
    bytes[i] = next_number(script);
    places[i] = (int)bytes[i];
    large_lengths[i] = lengths[i];
    large_places[i] = bytes[i];
  }
  Type part = read_any(script, wanted);
  for (int i = 0; i < parts; ++i) add_copies(&whole, &part, bytes[i] * (in_bytes ? 1 : extent_of(&part)), lengths[i]);
  MPI_Datatype* const to = &whole.type.made;
  if (wanted && one_length) {
    MAKE(MPI_Type_create_indexed_block(parts, length, places, part.made, to), MPI_Type_create_indexed_block_c(parts, length, large_places, part.made, to));
  }
  if (wanted && in_bytes) {
    MAKE(MPI_Type_create_hindexed(parts, lengths, bytes, part.made, to), MPI_Type_create_hindexed_c(parts, large_lengths, large_places, part.made, to));
  }
  if (wanted && !one_length && !in_bytes) {
    MAKE(MPI_Type_indexed(parts, lengths, places, part.made, to), MPI_Type_indexed_c(parts, large_lengths, large_places, part.made, to));
  }
  (void)large_lengths, (void)large_places; /* There are no large counts here. */
  drop_part(&part);
  return whole.type;
}

/* This reads struct PARTS (LENGTH PLACE part)... */
static Type structure(Script* script, int wanted) {
  Whole whole = {.type = {.made = MPI_DATATYPE_NULL}};
  int lengths[kMostParts];
  MPI_Aint bytes[kMostParts];
  MPI_Count large_lengths[kMostParts], large_places[kMostParts];
  Type parts[kMostParts];
  MPI_Datatype types[kMostParts];
  const int count = (int)next_number(script);
  if (count > kMostParts) give_up("%d parts of a struct", count);
  for (int i = 0; i < count; ++i) {
    lengths[i] = (int)next_number(script);
    bytes[i] = next_number(script);
    parts[i] = read_any(script, wanted);
    types[i] = parts[i].made;
    large_lengths[i] = lengths[i];
    large_places[i] = bytes[i];
    add_copies(&whole, &parts[i], bytes[i], lengths[i]);
  }
  MPI_Datatype* const to = &whole.type.made;
  if (wanted) MAKE(MPI_Type_create_struct(count, lengths, bytes, types, to), MPI_Type_create_struct_c(count, large_lengths, large_places, types, to));
  (void)large_lengths, (void)large_places;
  for (int i = 0; i < count; ++i) drop_part(&parts[i]);
  return whole.type;
}

/* This reads subarray C|F ROWS COLUMNS, so many of them, from which: two dimensions. */
static Type subarray(Script* script, int wanted) {
  Whole whole = {.type = {.made = MPI_DATATYPE_NULL}};
  const int by_rows = next_word(script)[0] == 'C';
  int all[2], some[2], from[2];
  MPI_Count large_all[2], large_some[2], large_from[2];
  for (int i = 0; i < 2; ++i) all[i] = (int)next_number(script);
  for (int i = 0; i < 2; ++i) some[i] = (int)next_number(script);
  for (int i = 0; i < 2; ++i) from[i] = (int)next_number(script);
  for (int i = 0; i < 2; ++i) large_all[i] = all[i], large_some[i] = some[i], large_from[i] = from[i];
  Type part = read_any(script, wanted);
  const int slow = by_rows ? 0 : 1, fast = 1 - slow;
  for (int i = 0; i < some[slow]; ++i) {
    add_copies(&whole, &part, ((from[slow] + i) * (int64_t)all[fast] + from[fast]) * extent_of(&part), some[fast]);
  }
  whole.type.lower = 0;
  whole.type.upper = (int64_t)all[0] * all[1] * extent_of(&part);
  const int order = by_rows ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  MPI_Datatype* const to = &whole.type.made;
  if (wanted) {
    MAKE(MPI_Type_create_subarray(2, all, some, from, order, part.made, to),
         MPI_Type_create_subarray_c(2, large_all, large_some, large_from, order, part.made, to));
  }
  (void)large_all, (void)large_some, (void)large_from;
  drop_part(&part);
  return whole.type;
}

/* This reads resized LOWER EXTENT, or dup, then the part. */
static Type changed(Script* script, const char* how, int wanted) {
  Whole whole = {.type = {.made = MPI_DATATYPE_NULL}};
  const int resized = strcmp(how, "resized") == 0;
  const int64_t lower = resized ? next_number(script) : 0, extent = resized ? next_number(script) : 0;
  Type part = read_any(script, wanted);
  add_copies(&whole, &part, 0, 1);
  if (resized) {
    whole.type.lower = lower;
    whole.type.upper = lower + extent;
  }
  MPI_Datatype* const to = &whole.type.made;
  if (wanted && resized) MAKE(MPI_Type_create_resized(part.made, lower, extent, to), MPI_Type_create_resized_c(part.made, lower, extent, to));
  if (wanted && !resized) MPI_Type_dup(part.made, &whole.type.made);
  drop_part(&part);
  return whole.type;
}

static Type read_any(Script* script, int wanted) {
  char how[kWordBytes];
  strcpy(how, next_word(script));
  const Predefined* known = predefined(how);
  if (known != NULL) return leaf(known, wanted);
  if (strcmp(how, "contig") == 0 || strcmp(how, "vector") == 0 || strcmp(how, "hvector") == 0) {
    return regular(script, how, wanted);
  }
  if (strcmp(how, "struct") == 0) return structure(script, wanted);
  if (strcmp(how, "subarray") == 0) return subarray(script, wanted);
  if (strcmp(how, "resized") == 0 || strcmp(how, "dup") == 0) return changed(script, how, wanted);
  if (strstr("indexed hindexed iblock", how) == NULL || how[0] == '\0') give_up("no way to make a type: '%s'", how);
  return irregular(script, how, wanted);
}

Type read_type(Script* script, int wanted) {
  Type type = read_any(script, wanted);
  if (!wanted) return type;
  MPI_Aint lower, extent;
  if (!type.predefined) MPI_Type_commit(&type.made);
  MPI_Type_get_extent(type.made, &lower, &extent);
  if (lower != type.lower || extent != extent_of(&type)) {
    give_up("MPI says %ld and %ld of the bounds of a type, not %ld and %ld", (long)lower, (long)extent, (long)type.lower,
            (long)extent_of(&type));
  }
  return type;
}

void free_made(Type* type) {
  if (type->made != MPI_DATATYPE_NULL && !type->predefined) MPI_Type_free(&type->made);
  type->made = MPI_DATATYPE_NULL;
}

void free_type(Type* type) {
  free_made(type);
  free(type->runs.run);
  type->runs = (Runs){NULL, 0, 0};
}
