#include "sides.h"

#include <stdlib.h>
#include <string.h>

const Type* type_of(const Side* side, int i) { return &side->types[side->form == 'w' ? i : 0]; }
int64_t count_of(const Side* side, int i) { return side->counts[side->form == 'a' ? 0 : i]; }

int64_t place_of(const Side* side, int i) {
  if (side->form == 'a') return i * side->counts[0] * extent_of(&side->types[0]);
  return side->places[i] * (side->form == 'v' ? extent_of(&side->types[0]) : 1);
}

Side read_side(Script* script, char form, int blocks, int wanted) {
  Side side = {.form = form, .blocks = blocks};
  const size_t types = form == 'w' ? (size_t)blocks : 1, counts = form == 'a' ? 1 : (size_t)blocks;
  side.types = calloc(types, sizeof *side.types);
  side.counts = calloc(counts, sizeof *side.counts);
  side.places = calloc(counts, sizeof *side.places);
  if (form != 'w') side.types[0] = read_type(script, wanted);
  for (size_t i = 0; i < counts; ++i) {
    side.counts[i] = next_number(script);
    if (form != 'a') side.places[i] = next_number(script);
    if (form == 'w') side.types[i] = read_type(script, wanted);
  }
  return side;
}

void free_side(Side* side) {
  const int types = side->form == 'w' ? side->blocks : 1;
  if (side->types == NULL) return;
  for (int i = 0; i < types; ++i) free_type(&side->types[i]);
  free(side->types);
  free(side->counts);
  free(side->places);
  memset(side, 0, sizeof *side);
}

void reach_of(const Side* side, int64_t* low, int64_t* high) {
  *low = INT64_MAX;
  *high = INT64_MIN;
  for (int i = 0; i < side->blocks; ++i) {
    const Type* const type = type_of(side, i);
    const int64_t last = (count_of(side, i) - 1) * extent_of(type);
    if (last < 0 && count_of(side, i) == 0) continue;
    for (size_t k = 0; k < type->runs.count; ++k) {
      const int64_t first = place_of(side, i) + type->runs.run[k].offset, end = first + type->runs.run[k].bytes;
      if (first < *low) *low = first;
      if (end + last > *high) *high = end + last;
    }
  }
  if (*low > *high) *low = *high = 0;
}
