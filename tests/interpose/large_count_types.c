/* Datatypes made with large counts, which MPI_Type_get_envelope refuses, are compared with the same types made with ints. Data and gaps after an
 * exchange must be the same.
 *
 *   large_count_types [CALLS] */
#include "check.h"

enum { kRanks = 16, kInts = 400, kTypes = 11 };

static MPI_Datatype committed(MPI_Datatype type) {
  MPI_OK(MPI_Type_commit(&type));
  return type;
}

static const MPI_Count lengths[3] = {2, 0, 3}, places[3] = {1, 4, 9}, bytes[3] = {40, 0, 8}, sizes[2] = {6, 8}, parts[2] = {3, 4}, starts[2] = {2, 1};
static const int int_lengths[3] = {2, 0, 3}, int_places[3] = {1, 4, 9}, int_sizes[2] = {6, 8}, int_parts[2] = {3, 4}, int_starts[2] = {2, 1};
static const MPI_Aint aint_bytes[3] = {40, 0, 8};

static MPI_Datatype made_by_large(int which) {
  const MPI_Datatype types[3] = {MPI_SHORT, MPI_INT, MPI_INT};
  MPI_Datatype type = MPI_DATATYPE_NULL, inner;
  switch (which) {
    case 0: MPI_OK(MPI_Type_contiguous_c(5, MPI_INT, &type)); break;
    case 1: MPI_OK(MPI_Type_vector_c(3, 2, 4, MPI_INT, &type)); break;
    case 2: MPI_OK(MPI_Type_create_hvector_c(3, 2, 20, MPI_INT, &type)); break;
    case 3: MPI_OK(MPI_Type_indexed_c(3, lengths, places, MPI_INT, &type)); break;
    case 4: MPI_OK(MPI_Type_create_hindexed_c(3, lengths, bytes, MPI_INT, &type)); break;
    case 5: MPI_OK(MPI_Type_create_indexed_block_c(3, 2, places, MPI_INT, &type)); break;
    case 6: MPI_OK(MPI_Type_create_hindexed_block_c(3, 2, bytes, MPI_INT, &type)); break;
    case 7: MPI_OK(MPI_Type_create_struct_c(3, lengths, bytes, types, &type)); break;
    case 8: MPI_OK(MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type)); break;
    case 9: MPI_OK(MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &type)); break;
    default: /* One type is inside the other. */
      inner = made_by_large(1);
      MPI_OK(MPI_Type_create_resized_c(inner, 0, 48, &type));
      MPI_OK(MPI_Type_free(&inner));
  }
  return committed(type);
}

static MPI_Datatype made_by_ints(int which) {
  const MPI_Datatype types[3] = {MPI_SHORT, MPI_INT, MPI_INT};
  MPI_Datatype type = MPI_DATATYPE_NULL, inner;
  switch (which) {
    case 0: MPI_OK(MPI_Type_contiguous(5, MPI_INT, &type)); break;
    case 1: MPI_OK(MPI_Type_vector(3, 2, 4, MPI_INT, &type)); break;
    case 2: MPI_OK(MPI_Type_create_hvector(3, 2, 20, MPI_INT, &type)); break;
    case 3: MPI_OK(MPI_Type_indexed(3, int_lengths, int_places, MPI_INT, &type)); break;
    case 4: MPI_OK(MPI_Type_create_hindexed(3, int_lengths, aint_bytes, MPI_INT, &type)); break;
    case 5: MPI_OK(MPI_Type_create_indexed_block(3, 2, int_places, MPI_INT, &type)); break;
    case 6: MPI_OK(MPI_Type_create_hindexed_block(3, 2, aint_bytes, MPI_INT, &type)); break;
    case 7: MPI_OK(MPI_Type_create_struct(3, int_lengths, aint_bytes, types, &type)); break;
    case 8: MPI_OK(MPI_Type_create_subarray(2, int_sizes, int_parts, int_starts, MPI_ORDER_C, MPI_INT, &type)); break;
    case 9: MPI_OK(MPI_Type_create_subarray(2, int_sizes, int_parts, int_starts, MPI_ORDER_FORTRAN, MPI_INT, &type)); break;
    default:
      inner = made_by_ints(1);
      MPI_OK(MPI_Type_create_resized(inner, 0, 48, &type));
      MPI_OK(MPI_Type_free(&inner));
  }
  return committed(type);
}

static void exchange(const int* out, int* in, MPI_Datatype sent, MPI_Datatype received, int how) {
  const int size = size_of_comm(MPI_COMM_WORLD);
  int counts[kRanks], offsets[kRanks];
  MPI_Datatype from[kRanks], to[kRanks];
  MPI_Request request;
  for (int peer = 0; peer < size; ++peer) counts[peer] = 1, offsets[peer] = peer * kInts * (int)sizeof(int), from[peer] = sent, to[peer] = received;
  if (how == 0) MPI_OK(MPI_Alltoallw(out, counts, offsets, from, in, counts, offsets, to, MPI_COMM_WORLD));
  if (how == 1) {
    MPI_OK(MPI_Ialltoallw(out, counts, offsets, from, in, counts, offsets, to, MPI_COMM_WORLD, &request));
    MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  if (how == 2) MPI_OK(MPI_Alltoall(out, 1, sent, in, 1, received, MPI_COMM_WORLD));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD), size = size_of_comm(MPI_COMM_WORLD), ints = size * kInts;
  int *const out = malloc(sizeof(int) * (size_t)ints), *const by_large = malloc(sizeof(int) * (size_t)ints), *const by_small = malloc(sizeof(int) * (size_t)ints);
  for (int call = 0; call < (argc > 1 ? atoi(argv[1]) : 12); ++call) {
    for (int which = 0; which < kTypes; ++which) {
      MPI_Datatype large = made_by_large(which), small = made_by_ints(which);
      for (int at = 0; at < ints; ++at) out[at] = number(rank, at, call), by_large[at] = by_small[at] = -1;
      exchange(out, by_small, small, small, call % 3);
      exchange(out, by_large, call % 2 ? small : large, large, call % 3);
      int wrong = 0, data = 0;
      for (int at = 0; at < ints; ++at) wrong += by_large[at] != by_small[at], data += by_small[at] != -1;
      CHECK(wrong == 0 && data > 0, "type %d: %d of %d ints wrong, call %d", which, wrong, data, call);
      MPI_OK(MPI_Type_free(&large));
      MPI_OK(MPI_Type_free(&small));
    }
  }
  free(out), free(by_large), free(by_small);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
