#include "exchanges.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "sides.h"

static Area area_of(const Side* side, int kind) {
  int64_t low, high;
  reach_of(side, &low, &high);
  return make_area(kind, low, high);
}

/* Returns the blocks of a side of a rank that exchanges with `peers` others. */
static int blocks_of(const Exchange* exchange, int receives, int peers) {
  if (exchange->form == 's' && exchange->in_place) return peers;
  return strchr(receives ? "rstST" : "ghrtGH", exchange->form) != NULL ? 1 : peers;
}

static Side read_one(Script* script, const Exchange* exchange, int receives, int peers, int wanted) {
  const char form = strchr("vw", exchange->form) != NULL ? exchange->form : strchr(receives ? "hH" : "T", exchange->form) != NULL ? 'v' : 'a';
  return read_side(script, form, blocks_of(exchange, receives, peers), wanted);
}

/* In calls with a root, one side is the root's alone. The other one is that of each rank that gives it a block, or gets one. */
static int has_side(const Exchange* exchange, int rank, int receives) {
  const int* const group_of = exchange->team->group_of;
  if (reduces(exchange)) return 0;
  if (!is_rooted(exchange)) return receives || !exchange->in_place;
  if (receives == (strchr("GH", exchange->form) != NULL)) return rank == exchange->root;
  return exchange->team->inter ? group_of[rank] != group_of[exchange->root] : rank != exchange->root || !exchange->in_place;
}
/* Returns whether data come from the receive side. */
static int from_in_place(const Exchange* exchange) { return exchange->in_place && !is_rooted(exchange); }

/* Reads COUNT and the roots of all communicators. From then on the peers are those from whom this rank receives. */
static void read_root(Script* script, Exchange* exchange, int me) {
  const Team* const team = exchange->team;
  for (int64_t i = 0, count = next_number(script); i < count; ++i) {
    const int root = (int)next_number(script), its = team->group_of[root], mine = team->group_of[me];
    if (its == mine || (team->inter && its == (mine ^ 1))) exchange->root = root;
  }
  if (!has_side(exchange, me, 1)) exchange->blocks = 0;
  if (exchange->blocks == 0 || strchr("GH", exchange->form) != NULL) return;
  exchange->peers[0] = exchange->root;
  exchange->blocks = 1;
}

static Side reduced_side(const Reduction* reduction, int64_t count, int blocks) {
  Side side = {.form = 'a', .blocks = blocks};
  side.types = calloc(1, sizeof *side.types);
  side.counts = calloc(1, sizeof *side.counts);
  side.places = calloc(1, sizeof *side.places);
  side.counts[0] = count;
  side.types[0] = reduction->element;
  return side;
}

/* Returns the elements of a rank: its block, or all of them. */
static int64_t scattered(const Exchange* exchange, int all) {
  int64_t elements = 0;
  for (int i = 0; i < exchange->blocks; ++i) elements += all || i == exchange->index ? exchange->lengths[i] : 0;
  return elements;
}

/* Reads COUNT, for a reduce_scatter how many counts and these, and the reduction, in the line of the step. It is the same on all ranks. The type is
 * the receive side's. */
static void read_reduced_sides(Script* script, Exchange* exchange) {
  int64_t count = next_number(script);
  const int unequal = exchange->form == 't';
  for (int64_t i = 0, lengths = count; unequal && i < lengths; ++i) {
    exchange->lengths[i] = next_number(script);
    exchange->larges[i] = exchange->ints[i] = (int)exchange->lengths[i];
  }
  if (unequal) count = scattered(exchange, 1);
  Script again = *script;
  exchange->reduction = read_reduction(script, 1);
  const int64_t received = unequal && !exchange->in_place ? scattered(exchange, 0) : count;
  exchange->in = reduced_side(&exchange->reduction, received, blocks_of(exchange, 1, exchange->blocks));
  if (exchange->in_place) return;
  const Reduction same = read_reduction(&again, 0);
  exchange->out = reduced_side(&same, count, blocks_of(exchange, 0, exchange->blocks));
}

/* Reads the line of one member: RANK OUT-KIND IN-KIND FLAGS and those sides that it has, out before in. */
static void read_member(Script* script, Exchange* exchange) {
  const int rank = (int)next_number(script), me = world_rank();
  const int out_kind = (int)next_number(script), in_kind = (int)next_number(script), flags = (int)next_number(script);
  int slot = 0, blocks = 0;
  while (slot < exchange->blocks && exchange->peers[slot] != rank) ++slot;
  if (rank != me && slot == exchange->blocks) {
    skip_line(script);
    return;
  }
  (void)peers_of(exchange->team, rank, &blocks);
  Script again = *script;
  if (rank == me) {
    exchange->flags = flags;
    if (has_side(exchange, me, 0)) exchange->out = read_one(script, exchange, 0, blocks, 1);
    if (has_side(exchange, me, 1)) exchange->in = read_one(script, exchange, 1, blocks, 1);
    if (exchange->out.types != NULL) exchange->from = area_of(&exchange->out, out_kind);
    if (exchange->in.types != NULL) exchange->to = area_of(&exchange->in, in_kind);
  }
  const int source = from_in_place(exchange);
  if (slot < exchange->blocks && has_side(exchange, rank, source)) exchange->sent[slot] = read_one(&again, exchange, source, blocks, 0);
  skip_line(script);
}

/* Reads call NUMBER TEAM FORM MODE IN-PLACE LARGE MEMBERS, for a reduction COUNT and what it is, for a call with a root the roots, then a line a
 * member. */
Exchange* read_exchange(Script* script, uint64_t seed) {
  Exchange* const exchange = calloc(1, sizeof *exchange);
  exchange->number = (int)next_number(script);
  exchange->team = team_of((int)next_number(script));
  exchange->comm = exchange->team->comm;
  exchange->form = next_word(script)[0];
  const char* const mode = next_word(script);
  exchange->mode = mode[0];
  exchange->stream = mode[0] == 'q' ? atoi(mode + 1) : 0;
  exchange->in_place = (int)next_number(script);
  exchange->large = (int)next_number(script);
  exchange->seed = mixed(seed, (uint64_t)exchange->number);
  const int members = (int)next_number(script), me = world_rank();
  const int* const peers = peers_of(exchange->team, me, &exchange->blocks);
  if (peers != NULL) {
    memcpy(exchange->peers, peers, sizeof *peers * (size_t)exchange->blocks);
    const int* const mine = exchange->team->member[exchange->team->group_of[me]];
    while (mine[exchange->index] != me) ++exchange->index;
    if (reduces(exchange)) read_reduced_sides(script, exchange);
    if (is_rooted(exchange)) read_root(script, exchange, me);
  }
  for (int i = 0; i < members; ++i) {
    skip_line(script);
    if (peers != NULL) {
      read_member(script, exchange);
    } else {
      ++script->at;
    }
  }
  if (peers == NULL) skip_line(script);
  if (peers != NULL) return exchange;
  free(exchange);
  return NULL;
}

/* The arrays that MPI was given stay as they are, because a nonblocking call may still read them. */
void free_types_early(Exchange* exchange) {
  Side* const sides[2] = {&exchange->out, &exchange->in};
  free_op(&exchange->reduction);
  for (int k = 0; k < 2; ++k) {
    const int types = sides[k]->form == 'w' ? sides[k]->blocks : 1;
    for (int i = 0; i < exchange->own_types[k]; ++i) {
      MPI_Datatype type = exchange->given[k][i];
      MPI_Type_free(&type);
    }
    exchange->own_types[k] = 0;
    for (int i = 0; i < types && sides[k]->types != NULL; ++i) free_made(&sides[k]->types[i]);
  }
}

void free_exchange(Exchange* exchange) {
  free_types_early(exchange);
  free_arguments_of(exchange);
  free_side(&exchange->out);
  free_side(&exchange->in);
  for (int i = 0; i < exchange->blocks; ++i) free_side(&exchange->sent[i]);
  free_area(&exchange->from);
  free_area(&exchange->to);
  free(exchange);
}

static uint64_t key_of(const Exchange* exchange, int rank, int receives) {
  return mixed(mixed(exchange->seed, (uint64_t)exchange->starts), (uint64_t)(2 * rank + receives));
}

/* Fills all that this rank gives to a reduction. */
static void fill_operands(const Exchange* exchange, int receives, const Area* area) {
  const Side* const side = receives ? &exchange->in : &exchange->out;
  fill_elements(&exchange->reduction, area, key_of(exchange, world_rank(), receives), side->blocks * side->counts[0]);
}

void refill(Exchange* exchange) {
  ++exchange->starts;
  exchange->written_between = 0;
  if (exchange->out.types != NULL) {
    seal_area(&exchange->from, 0);
    fill_area(&exchange->from, key_of(exchange, world_rank(), 0));
    if (reduces(exchange)) fill_operands(exchange, 0, &exchange->from);
    seal_area(&exchange->from, 1);
    to_device(&exchange->from);
  }
  fill_area(&exchange->to, key_of(exchange, world_rank(), 1));
  if (reduces(exchange) && exchange->in_place) fill_operands(exchange, 1, &exchange->to);
  to_device(&exchange->to);
}

/* This walks over the bytes of a block, one run after the other. */
typedef struct {
  const Type* type;
  int64_t at, copies;
  size_t run;
  int64_t done; /* They are bytes of the run. */
} Cursor;

static Cursor cursor_at(const Side* side, int i) {
  return (Cursor){.type = type_of(side, i), .at = place_of(side, i), .copies = count_of(side, i)};
}

/* Looks at most `most` bytes in a row. Returns their number, 0 at the end. */
static int64_t look(Cursor* cursor, int64_t* position) {
  while (cursor->copies > 0) {
    if (cursor->run < cursor->type->runs.count) {
      const Run* const run = &cursor->type->runs.run[cursor->run];
      *position = cursor->at + run->offset + cursor->done;
      if (cursor->done < run->bytes) return run->bytes - cursor->done;
      cursor->done = 0;
      ++cursor->run;
      continue;
    }
    cursor->run = 0;
    cursor->at += extent_of(cursor->type);
    --cursor->copies;
  }
  return 0;
}

static void expect_block(const Exchange* exchange, int i, unsigned char* base) {
  if (exchange->sent[i].types == NULL) return; /* It is in place at the root. */
  const uint64_t key = key_of(exchange, exchange->peers[i], from_in_place(exchange));
  const int its_own = from_in_place(exchange) ? i : 0, block = strchr("ghGH", exchange->form) != NULL ? its_own : exchange->index;
  Cursor source = cursor_at(&exchange->sent[i], block), target = cursor_at(&exchange->in, i);
  for (;;) {
    int64_t from = 0, to = 0;
    const int64_t sent = look(&source, &from), room = look(&target, &to), bytes = sent < room ? sent : room;
    if (sent == 0 || room == 0) {
      if (sent != room) give_up("call %d: blocks of unequal signatures", exchange->number);
      return;
    }
    for (int64_t k = 0; k < bytes; ++k) base[to + k] = byte_of(key, from + k);
    source.done += bytes;
    target.done += bytes;
  }
}

static void expect_results(const Exchange* exchange, const Area* should) {
  uint64_t keys[kMostRanks];
  const int unequal = exchange->form == 't', scatters = unequal || exchange->form == 's';
  const int64_t count = unequal ? exchange->lengths[exchange->index] : exchange->in.counts[0];
  int64_t first = 0;
  for (int i = 0; scatters && i < exchange->index; ++i) first += unequal ? exchange->lengths[i] : count;
  for (int i = 0; i < exchange->blocks; ++i) keys[i] = key_of(exchange, exchange->peers[i], exchange->in_place);
  const Results results = {keys, exchange->blocks, first, count};
  expect_elements(&exchange->reduction, &results, &exchange->to, should);
  if (!scatters || !exchange->in_place) return;
  /* The standard leaves open what was given and is no result: MPICH 5 writes there. */
  const int64_t extent = extent_of(&exchange->reduction.element), result = count * extent;
  const int64_t all = exchange->in.counts[0] * exchange->in.blocks * extent;
  memcpy(should->base + result, exchange->to.base + result, (size_t)(all - result));
}

static void compare(const Exchange* exchange, const Area* area, const unsigned char* expected, const char* what) {
  size_t wrong = 0, first = 0;
  for (size_t i = area->bytes; i-- > 0;) {
    if (area->memory[i] == expected[i]) continue;
    first = i;
    ++wrong;
  }
  if (wrong == 0) return;
  CHECK(0, "WRONG rank %d: step %d (%c%c%s, start %d): %zu bytes of the %s, the first at %ld", world_rank(), exchange->number,
        exchange->form, exchange->mode, exchange->in_place ? ", in place" : "", exchange->starts, wrong, what,
        (long)(area->memory - area->base) + (long)first);
}

void check_exchange(Exchange* exchange) {
  from_device(&exchange->to);
  Area should = exchange->to;
  should.memory = malloc(should.bytes);
  should.base = should.memory + (exchange->to.base - exchange->to.memory);
  fill_area(&should, key_of(exchange, world_rank(), 1));
  if (exchange->written_between) change_between(exchange, &should);
  if (reduces(exchange) && exchange->in_place) fill_operands(exchange, 1, &should);
  if (reduces(exchange)) expect_results(exchange, &should);
  for (int i = 0; i < exchange->blocks && !reduces(exchange); ++i) expect_block(exchange, i, should.base);
  compare(exchange, &exchange->to, should.memory, "receive side");
  free(should.memory);
  if (exchange->out.types == NULL) return;
  from_device(&exchange->from);
  should = exchange->from;
  should.memory = malloc(should.bytes);
  should.base = should.memory + (exchange->from.base - exchange->from.memory);
  fill_area(&should, key_of(exchange, world_rank(), 0));
  if (reduces(exchange)) fill_operands(exchange, 0, &should);
  compare(exchange, &exchange->from, should.memory, "send side");
  free(should.memory);
}
