#include "reductions.h"

#include <dlfcn.h>
#include <string.h>

enum { kMostElementBytes = 64 };

/* Composes affine maps x -> a x + b, one after the other. It does not commute. */
static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
  typedef struct {
    unsigned a, b;
  } Map;
  const Map* const first = in;
  Map* const second = inout;
  (void)type;
  for (int i = 0; i < *count; ++i) second[i] = (Map){first[i].a * second[i].a, first[i].b * second[i].a + second[i].b};
}

/* Keeps the one of the lowest rank. It does not commute. */
static void keep_first(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  memcpy(inout, in, sizeof(int) * (size_t)*count);
}

static void add_longs(void* in, void* inout, int* count, MPI_Datatype* type) {
  const unsigned long* const first = in;
  unsigned long* const second = inout;
  (void)type;
  for (int i = 0; i < *count; ++i) second[i] += first[i];
}

/* This is for a struct with gaps. */
static void add_and_flip(void* in, void* inout, int* count, MPI_Datatype* type) {
  typedef struct {
    unsigned sum;
    char gap[4];
    unsigned short flipped;
    char rest[6];
  } Gapped;
  const Gapped* const first = in;
  Gapped* const second = inout;
  (void)type;
  for (int i = 0; i < *count; ++i) {
    second[i].sum += first[i].sum;
    second[i].flipped ^= first[i].flipped;
  }
}

static const OwnOperation own_operations[] = {
    {"affine", 0, compose}, {"first", 0, keep_first}, {"add", 1, add_longs}, {"gapped", 1, add_and_flip}};

static const OwnOperation* own_operation(const char* name) {
  for (size_t i = 0; i < sizeof own_operations / sizeof own_operations[0]; ++i) {
    if (strcmp(own_operations[i].name, name) == 0) return &own_operations[i];
  }
  return NULL;
}

static int number_of_op(const char* name) {
  for (int op = 0; op < kOps; ++op) {
    if (strcmp(op_names[op], name) == 0) return op;
  }
  give_up("no operation '%s'", name);
}

static const TypeRow* row_of(const char* name) {
  for (int i = 0; i < type_row_count; ++i) {
    if (strcmp(type_rows[i].name, name) == 0) return &type_rows[i];
  }
  give_up("no type '%s'", name);
}

static Numbers numbers_called(const char* name) {
  return strcmp(name, "small") == 0 ? kTame : strcmp(name, "rounding") == 0 ? kRounding : kAll;
}

static Type type_of_row(const TypeRow* row) {
  Type type = {.made = row->type(), .predefined = 1};
  MPI_Aint lower, extent;
  int size = 0;
  if (type.made != MPI_DATATYPE_NULL) MPI_Type_size(type.made, &size);
  if (size != row->bytes) give_up("this MPI has no MPI_%s of %d bytes", row->name, row->bytes);
  MPI_Type_get_extent(type.made, &lower, &extent);
  if (extent > kMostElementBytes) give_up("MPI_%s is longer than %d bytes", row->name, kMostElementBytes);
  type.upper = extent;
  const int is_pair = row->kind == kPair, second = row->second > 0 ? row->second : -row->second;
  add_run(&type.runs, 0, is_pair ? row->value : row->bytes);
  if (is_pair) add_run(&type.runs, row->place, second);
  return type;
}

Reduction read_reduction(Script* script, int wanted) {
  Reduction made = {.handle = MPI_OP_NULL};
  made.own = own_operation(next_word(script));
  if (made.own == NULL) made.op = number_of_op(script->word);
  made.numbers = numbers_called(next_word(script));
  if (made.own != NULL) {
    made.element = read_type(script, wanted);
    if (wanted) MPI_Op_create(made.own->combine, made.own->commutes, &made.handle);
    return made;
  }
  made.row = row_of(next_word(script));
  if (!defined_for(made.row, made.op)) give_up("%s is not defined for MPI_%s", op_names[made.op], made.row->name);
  made.element = type_of_row(made.row);
  made.handle = op_of(made.op);
  return made;
}

void free_op(Reduction* reduction) {
  if (reduction->own != NULL && reduction->handle != MPI_OP_NULL) MPI_Op_free(&reduction->handle);
}

static void put_element(const Reduction* reduction, uint64_t key, int64_t i, unsigned char* at) {
  const int64_t extent = extent_of(&reduction->element);
  if (reduction->row == NULL) {
    for (int64_t k = 0; k < extent; ++k) at[k] = byte_of(key, i * extent + k);
    return;
  }
  Random random = random_from(mixed(key, (uint64_t)i));
  fill_element(reduction->row, at, &random, reduction->numbers);
}

void fill_elements(const Reduction* reduction, const Area* area, uint64_t key, int64_t count) {
  const int64_t extent = extent_of(&reduction->element);
  for (int64_t i = 0; i < count; ++i) put_element(reduction, key, i, area->base + i * extent);
}

static void combine(const Reduction* reduction, unsigned char* first, unsigned char* second) {
  if (reduction->row != NULL) combine_element(reduction->row, reduction->op, first, second);
  else reduction->own->combine(first, second, &(int){1}, NULL);
}

static void forget_gaps(const Reduction* reduction, int64_t count, const Area* found, const Area* should) {
  const int64_t extent = extent_of(&reduction->element);
  const Runs* const runs = &reduction->element.runs;
  if (reduction->numbers == kRounding && dlsym(RTLD_DEFAULT, "crossrail_set") == NULL) {
    memcpy(should->base, found->base, (size_t)(count * extent)); /* It may be in any order. */
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    unsigned char *const expected = should->base + i * extent, *const actual = found->base + i * extent;
    int64_t at = 0;
    for (size_t k = 0; k <= runs->count; ++k) {
      const int64_t end = k < runs->count ? runs->run[k].offset : extent;
      memcpy(expected + at, actual + at, (size_t)(end - at));
      if (k < runs->count) at = end + runs->run[k].bytes;
    }
    if (reduction->row == NULL) continue;
    forget_padding(reduction->row, expected);
    forget_padding(reduction->row, actual);
  }
}

void expect_elements(const Reduction* reduction, const Results* results, const Area* found, const Area* should) {
  /* The rows are aligned for every type of C. */
  long double rows[2][kMostElementBytes / sizeof(long double)] = {{0}};
  const int64_t extent = extent_of(&reduction->element);
  for (int64_t i = 0; i < results->count; ++i) {
    unsigned char *so_far = (unsigned char*)rows[0], *next = (unsigned char*)rows[1];
    put_element(reduction, results->keys[0], results->first + i, so_far);
    for (int from = 1; from < results->operands; ++from) {
      put_element(reduction, results->keys[from], results->first + i, next);
      combine(reduction, so_far, next);
      unsigned char* const spare = so_far;
      so_far = next;
      next = spare;
    }
    memcpy(should->base + i * extent, so_far, (size_t)extent);
  }
  forget_gaps(reduction, results->count, found, should);
}
