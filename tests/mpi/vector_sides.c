#include "vector_sides.h"

#include <stdlib.h>
#include <string.h>

enum { kGuardBytes = 256 };

static Random pair_random(const Sides* sides, int from, int to) {
  /* In place, what goes from one to the other comes back in kind. Between groups, ranks of both count from 0. */
  const int low = sides->in_place && from > to ? to : from;
  const int high = sides->in_place && from > to ? from : to;
  return random_from(sides->seed ^ ((uint64_t)low * 1000003u + (uint64_t)high * 7919u + 1));
}

/* Returns the granules in the block between two ranks, which is the same to both. */
static int granules_between(const Sides* sides, int from, int to) {
  Random random = pair_random(sides, from, to);
  const int any = random_below(&random, sides->largest + 1);
  const int lot = random_below(&random, 100);
  if (sides->plain) return sides->largest;
  Random row = random_from(sides->seed + (uint64_t)from);
  switch (sides->pattern) {
    case 's': return lot < 80 ? 0 : any;
    case 'z': return !sides->in_place && random_below(&row, 2) ? 0 : any;
    case 'o': return from == to || lot < 90 ? any % 3 : 20 * any;
    case 'e': return 0;
    default: return any;
  }
}

static int unit_between(const Sides* sides, int from, int to) {
  if (!sides->many_types) return sides->unit;
  Random random = pair_random(sides, from, to);
  int unit;
  do {
    unit = random_below(&random, kUnits);
  } while (has_long_double(unit));
  return unit;
}

static MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(type, &lower, &extent);
  return extent;
}

static void choose_layouts(VectorSide* side, const Sides* sides, const int* units, Random* own) {
  const int may_overlap = side == &sides->send;
  side->layout_count = sides->many_types ? sides->ranks : 1;
  side->layouts = malloc(sizeof *side->layouts * (size_t)side->layout_count);
  for (int i = 0; i < side->layout_count; ++i) {
    side->layouts[i] = random_layout(own, units[i], sides->granule, may_overlap);
    while (extent_of(side->layouts[i].type) <= 0) {
      free_layout(&side->layouts[i]);
      side->layouts[i] = random_layout(own, units[i], sides->granule, may_overlap);
    }
  }
  side->unit = extent_of(side->layouts[0].type) * side->layouts[0].count;
}

/* Places the blocks one after the other in a random order of ranks, with random gaps. Sent blocks may also all lie at one place. */
static ptrdiff_t place_parts(VectorSide* side, const Sides* sides, Random* own) {
  const int ranks = sides->ranks, together = side == &sides->send && random_below(own, 6) == 0;
  const int turn = random_below(own, ranks), back = random_below(own, 2);
  ptrdiff_t end_of_all = 0, cursor = 0;
  for (int i = 0; i < ranks; ++i) {
    const int rank = back ? (2 * ranks - 1 - i - turn) % ranks : (i + turn) % ranks;
    Part* part = &side->parts[rank];
    const Layout* layout = &side->layouts[sides->many_types ? rank : 0];
    MPI_Aint lowest, end;
    reach(layout, part->granules, &lowest, &end);
    part->place = cursor - lowest + (sides->many_types ? random_below(own, 40) : 0);
    if (!sides->many_types) {
      const MPI_Aint steps = part->place <= 0 ? part->place / side->unit : (part->place + side->unit - 1) / side->unit;
      part->place = (steps + random_below(own, 3)) * side->unit;
    }
    if (part->place + end > end_of_all) end_of_all = part->place + end;
    if (!together && part->granules > 0) cursor = part->place + end;
  }
  return end_of_all;
}

/* Places the blocks of MPI_Alltoall, which have one length and follow each other. */
static ptrdiff_t place_plainly(VectorSide* side, const Sides* sides) {
  const int granules = side->parts[0].granules;
  MPI_Aint lowest, end;
  reach(&side->layouts[0], sides->ranks * granules, &lowest, &end);
  const ptrdiff_t first = lowest < 0 ? (side->unit - 1 - lowest) / side->unit * side->unit : 0;
  for (int rank = 0; rank < sides->ranks; ++rank) side->parts[rank].place = first + rank * granules * side->unit;
  return first + end;
}

static void make_side(VectorSide* side, const Sides* sides, const int* granules, Random* own) {
  side->parts = malloc(sizeof *side->parts * (size_t)sides->ranks);
  for (int rank = 0; rank < sides->ranks; ++rank) side->parts[rank].granules = granules[rank];
  const ptrdiff_t end = sides->plain ? place_plainly(side, sides) : place_parts(side, sides, own);
  side->bytes = (size_t)end + 2 * kGuardBytes;
  side->memory = malloc(side->bytes);
  for (size_t i = 0; i < side->bytes; ++i) side->memory[i] = (unsigned char)(random_word(own) >> 40);
  /* The address may lie anywhere, so displacements may be negative. */
  const ptrdiff_t unit = sides->many_types ? 1 : side->unit;
  ptrdiff_t shift = random_below(own, 2) ? 0 : random_below(own, 5) * unit;
  /* Open MPI 4.1 and 5.0 themselves take the displacement for elements where there is one rank. */
  if (sides->many_types && sides->ranks == 1) shift = side->parts[0].place;
  if (sides->plain) shift = side->parts[0].place;
  side->base = side->memory + kGuardBytes + shift;
  for (int rank = 0; rank < sides->ranks; ++rank) {
    Part* part = &side->parts[rank];
    const Layout* layout = &side->layouts[sides->many_types ? rank : 0];
    part->place -= shift;
    part->type = layout->type;
    part->count = layout->count * part->granules;
  }
}

void make_sides(Sides* sides, MPI_Comm comm, Random* own) {
  int me;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &sides->ranks);
  if (sides->inter) MPI_Comm_remote_size(comm, &sides->ranks);
  sides->absolute = random_below(own, 8) == 0;
  int* units = malloc(sizeof *units * (size_t)sides->ranks);
  int* granules = malloc(sizeof *granules * (size_t)sides->ranks);
  for (int sending = 0; sending < 2; ++sending) {
    VectorSide* side = sending ? &sides->send : &sides->recv;
    for (int i = 0; i < sides->ranks; ++i) {
      units[i] = sending ? unit_between(sides, me, i) : unit_between(sides, i, me);
      granules[i] = sending ? granules_between(sides, me, i) : granules_between(sides, i, me);
    }
    choose_layouts(side, sides, units, own);
    make_side(side, sides, granules, own);
  }
  free(units);
  free(granules);
}

void free_sides(Sides* sides) {
  for (int sending = 0; sending < 2; ++sending) {
    VectorSide* side = sending ? &sides->send : &sides->recv;
    for (int i = 0; i < side->layout_count; ++i) free_layout(&side->layouts[i]);
    free(side->layouts);
    free(side->parts);
    free(side->memory);
  }
}

/* Describes `count` elements of `type` at `at`, as one element at MPI_BOTTOM. */
static MPI_Datatype absolute_type(MPI_Datatype type, int count, const unsigned char* at, MPI_Aint extent) {
  MPI_Aint address, lower, ignored;
  MPI_Datatype made, resized;
  MPI_Get_address(at, &address);
  MPI_Type_create_hindexed(1, &count, &address, type, &made);
  MPI_Type_get_extent(made, &lower, &ignored);
  MPI_Type_create_resized(made, lower, extent, &resized);
  MPI_Type_commit(&resized);
  MPI_Type_free(&made);
  return resized;
}

static void make_absolute(Arguments* arguments, const VectorSide* side, const Sides* sides) {
  arguments->address = MPI_BOTTOM;
  arguments->made = side->layout_count;
  if (!sides->many_types) {
    const Layout* layout = &side->layouts[0];
    arguments->types[0] = absolute_type(layout->type, layout->count, side->base, side->unit);
  }
  for (int rank = 0; rank < sides->ranks; ++rank) {
    const Part* part = &side->parts[rank];
    if (sides->many_types) {
      arguments->counts[rank] = part->count > 0;
      arguments->places[rank] = 0;
      arguments->types[rank] = absolute_type(part->type, part->count, side->base + part->place, 64);
    } else {
      arguments->counts[rank] = part->granules;
      arguments->places[rank] = (int)(part->place / side->unit);
    }
  }
}

static void take_parts(Arguments* arguments, const VectorSide* side, const Sides* sides) {
  int any = 0;
  for (int rank = 0; rank < sides->ranks; ++rank) {
    const Part* part = &side->parts[rank];
    const MPI_Aint unit = sides->many_types ? 1 : extent_of(part->type);
    any += part->granules;
    arguments->counts[rank] = part->count;
    arguments->places[rank] = part->count == 0 ? -1234567 : (int)(part->place / unit);
    arguments->types[rank] = part->type;
  }
  if (any == 0 && sides->seed % 2 == 0) arguments->address = NULL;
}

Arguments arguments_of(const VectorSide* side, const Sides* sides) {
  const size_t ranks = (size_t)sides->ranks;
  Arguments arguments = {.address = side->base};
  arguments.counts = malloc(ranks * sizeof(int));
  arguments.places = malloc(ranks * sizeof(int));
  arguments.large_counts = malloc(ranks * sizeof(MPI_Count));
  arguments.large_places = malloc(ranks * sizeof(MPI_Aint));
  arguments.types = malloc(ranks * sizeof(MPI_Datatype));
  if (sides->absolute) {
    make_absolute(&arguments, side, sides);
  } else {
    take_parts(&arguments, side, sides);
  }
  for (size_t i = 0; i < ranks; ++i) {
    arguments.large_counts[i] = arguments.counts[i];
    arguments.large_places[i] = arguments.places[i];
  }
  return arguments;
}

void free_arguments(Arguments* arguments) {
  for (int i = 0; i < arguments->made; ++i) MPI_Type_free(&arguments->types[i]);
  free(arguments->counts);
  free(arguments->places);
  free(arguments->large_counts);
  free(arguments->large_places);
  free(arguments->types);
}

unsigned char* copy_of(const unsigned char* memory, size_t bytes) {
  unsigned char* copy = malloc(bytes);
  memcpy(copy, memory, bytes);
  return copy;
}
