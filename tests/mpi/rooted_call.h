/* This is a call of MPI_Gather, MPI_Scatter or one of their v forms. It has its sides on this rank, and what they must hold, computed by messages. */
#pragma once

#include "check.h"
#include "guarded_areas.h"

enum { kMostParts = 5, kMostRanks = 64 };

typedef enum { kBlocking, kNonblocking, kPersistent, kForms } Form;

#if MPI_VERSION >= 4
enum { kHasPersistent = 1 };
#else
enum { kHasPersistent = 0 };
#endif

#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
enum { kLargeCounts = 1 };
#else
enum { kLargeCounts = 0 };
#endif

/* This is a call as all ranks know it, and this rank's sides. A block of the v forms has `parts` times the elements of the row's layout. */
typedef struct {
  int gathers, counted, in_place, large, root, ranks, rank;
  Form form;
  int parts[kMostRanks], slots[kMostRanks];
  Layout own, row;
  Area own_area, row_area, expected; /* `expected` is of the side that receives. */
  int counts[kMostRanks], places[kMostRanks];
#if MPI_VERSION >= 4
  MPI_Count large_counts[kMostRanks];
  MPI_Aint large_places[kMostRanks];
#endif
} Call;

static inline int is_root(const Call* call) { return call->rank == call->root; }
static inline int has_own(const Call* call) { return !(is_root(call) && call->in_place); }

/* Returns a rank's block in the root's row. */
static inline unsigned char* block_at(const Call* call, const Area* row, int rank) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(call->row.type, &lower, &extent);
  return row->base + extent * call->places[rank];
}

static inline int bytes_of(const Call* call, int rank) {
  int size = 0;
  MPI_Type_size(call->row.type, &size);
  return size * call->counts[rank];
}

/* Returns blocks as rows of bytes. */
static inline unsigned char* packed(const void* from, int count, MPI_Datatype type, int bytes) {
  unsigned char* row = malloc((size_t)bytes + 1);
  int position = 0;
  MPI_OK(PMPI_Pack(from, count, type, row, bytes, &position, MPI_COMM_SELF));
  CHECK(position == bytes, "packed %d bytes, not %d", position, bytes);
  return row;
}

static inline void unpack(unsigned char* row, int bytes, void* to, int count, MPI_Datatype type) {
  int position = 0;
  MPI_OK(PMPI_Unpack(row, bytes, &position, to, count, type, MPI_COMM_SELF));
}

static inline int own_bytes(const Call* call) {
  int size = 0;
  MPI_Type_size(call->own.type, &size);
  return size * call->own.count;
}

/* Computes by messages what the root must receive. */
static inline void define_gather(Call* call, MPI_Comm comm) {
  if (!is_root(call)) {
    const int bytes = own_bytes(call);
    unsigned char* mine = packed(call->own_area.base, call->own.count, call->own.type, bytes);
    MPI_OK(PMPI_Send(mine, bytes, MPI_BYTE, call->root, 77, comm));
    free(mine);
    return;
  }
  for (int rank = 0; rank < call->ranks; ++rank) {
    if (rank == call->root && call->in_place) continue;
    const int bytes = bytes_of(call, rank);
    unsigned char* its = rank == call->root ? packed(call->own_area.base, call->own.count, call->own.type, bytes) : malloc((size_t)bytes + 1);
    if (rank != call->root) MPI_OK(PMPI_Recv(its, bytes, MPI_BYTE, rank, 77, comm, MPI_STATUS_IGNORE));
    unpack(its, bytes, block_at(call, &call->expected, rank), call->counts[rank], call->row.type);
    free(its);
  }
}

static inline void define_scatter(Call* call, MPI_Comm comm) {
  for (int rank = 0; is_root(call) && rank < call->ranks; ++rank) {
    const int bytes = bytes_of(call, rank);
    unsigned char* its = packed(block_at(call, &call->row_area, rank), call->counts[rank], call->row.type, bytes);
    if (rank != call->root) MPI_OK(PMPI_Send(its, bytes, MPI_BYTE, rank, 77, comm));
    else if (!call->in_place) unpack(its, bytes, call->expected.base, call->own.count, call->own.type);
    free(its);
  }
  if (is_root(call)) return;
  const int bytes = own_bytes(call);
  unsigned char* mine = malloc((size_t)bytes + 1);
  MPI_OK(PMPI_Recv(mine, bytes, MPI_BYTE, call->root, 77, comm, MPI_STATUS_IGNORE));
  unpack(mine, bytes, call->expected.base, call->own.count, call->own.type);
  free(mine);
}
