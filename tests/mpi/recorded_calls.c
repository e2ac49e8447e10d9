/* The program makes a known mix of collectives, for the test of what is recorded (recorded.py). */
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

static int rank, size;

static void blocking(MPI_Comm half) {
  static int out[64], in[64];
  static double sums[8];
  for (int turn = 0; turn < 100; ++turn) {
    MPI_OK(MPI_Alltoall(out, 3, MPI_INT, in, 3, MPI_INT, MPI_COMM_WORLD));
    usleep(turn == 50 ? 20000 : 0);
    MPI_OK(MPI_Allreduce(MPI_IN_PLACE, sums, 5, MPI_DOUBLE, MPI_MAX, half));
  }
}

static void vectors(void) {
  static int counts[16], places[16], out[64], in[64];
  static MPI_Datatype types[16];
  MPI_Datatype column;
  MPI_Type_vector(2, 1, 3, MPI_INT, &column);
  MPI_Type_commit(&column);
  for (int peer = 0; peer < size; ++peer) {
    counts[peer] = 1 + (peer + rank) % 2;
    places[peer] = 2 * peer;
    types[peer] = column;
  }
  MPI_OK(MPI_Alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD));
  for (int peer = 0; peer < size; ++peer) {
    counts[peer] = 1;
    places[peer] = 20 * peer;
  }
  MPI_OK(MPI_Alltoallw(out, counts, places, types, in, counts, places, types, MPI_COMM_WORLD));
  MPI_Type_free(&column);
}

/* There are more pieces than are recorded. */
static void many_pieces(void) {
  enum { kPieces = 1200, kInts = 8 * kPieces };
  static int places[kPieces], out[16 * kInts], in[16 * kInts];
  MPI_Datatype pieces, type;
  for (int piece = 1; piece < kPieces; ++piece) places[piece] = places[piece - 1] + 2 + piece * piece % 5;
  MPI_Type_create_indexed_block(kPieces, 1, places, MPI_INT, &pieces);
  MPI_Type_create_resized(pieces, 0, sizeof(int) * kInts, &type);
  MPI_Type_commit(&type);
  MPI_OK(MPI_Alltoall(out, 1, type, in, 1, type, MPI_COMM_WORLD));
  MPI_Type_free(&type);
  MPI_Type_free(&pieces);
}

static void later(void) {
  static char out[2][64], in[2][64];
  MPI_Request requests[2];
  for (int turn = 0; turn < 10; ++turn) {
    MPI_OK(MPI_Ialltoall(out[0], 7, MPI_BYTE, in[0], 7, MPI_BYTE, MPI_COMM_WORLD, &requests[0]));
    MPI_OK(MPI_Ialltoall(out[1], 9, MPI_BYTE, in[1], 9, MPI_BYTE, MPI_COMM_WORLD, &requests[1]));
    MPI_OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    MPI_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  }
}

int main(int argc, char** argv) {
  MPI_Comm half;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  blocking(half);
  vectors();
  many_pieces();
  later();
  MPI_Comm_free(&half);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &half); /* It often has the same handle. */
  MPI_OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, calloc(size, 4), 1, MPI_INT, half));
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
