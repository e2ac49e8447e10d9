/* A distributed 2-D Fourier transform: the classic user of MPI_Alltoall.
 *
 *   mpicc -O2 examples/transpose.c -o transpose -lm
 *   crossrail run -n 4 --report -- ./transpose [points a side, a power of two] [rounds]
 *
 * The rows of a square complex matrix are spread over the ranks. A transform goes along the rows,
 * transposes the matrix through MPI_Alltoall, goes along the former columns, and comes back the same
 * way. Every round must give back the matrix it started with; the exit code is 1 if it does not. */
#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef double complex point;

struct grid {
  int side, rows, ranks, rank; /* rows: those of this rank */
  point *matrix, *packed, *received; /* rows x side points each */
};

/* In-place transform of `count` (a power of two) points; sign -1 forward, +1 backward. */
static void transform_row(point *row, int count, int sign) {
  for (int i = 1, j = 0; i < count; ++i) {
    int bit = count >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j |= bit;
    if (i < j) {
      point swapped = row[i];
      row[i] = row[j];
      row[j] = swapped;
    }
  }
  for (int length = 2; length <= count; length *= 2) {
    const point step = cexp(sign * 2.0 * acos(-1.0) * I / length);
    for (int start = 0; start < count; start += length) {
      point turn = 1.0;
      for (int i = start; i < start + length / 2; ++i, turn *= step) {
        const point odd = turn * row[i + length / 2];
        row[i + length / 2] = row[i] - odd;
        row[i] += odd;
      }
    }
  }
}

/* Block (rank, peer) goes to the peer, each block transposed on the way in. */
static void transpose(struct grid *grid) {
  const int rows = grid->rows;
  for (int peer = 0; peer < grid->ranks; ++peer)
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < rows; ++column)
        grid->packed[(peer * rows + row) * rows + column] = grid->matrix[row * grid->side + peer * rows + column];
  MPI_Alltoall(grid->packed, rows * rows, MPI_C_DOUBLE_COMPLEX, grid->received, rows * rows, MPI_C_DOUBLE_COMPLEX,
               MPI_COMM_WORLD);
  for (int peer = 0; peer < grid->ranks; ++peer)
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < rows; ++column)
        grid->matrix[column * grid->side + peer * rows + row] = grid->received[(peer * rows + row) * rows + column];
}

static void transform(struct grid *grid, int sign) {
  for (int pass = 0; pass < 2; ++pass) {
    for (int row = 0; row < grid->rows; ++row) transform_row(grid->matrix + row * grid->side, grid->side, sign);
    transpose(grid);
  }
}

static point start_value(const struct grid *grid, int row, int column) {
  const double x = grid->rank * grid->rows + row, y = column;
  return sin(0.37 * x + 0.11 * y) + I * cos(0.05 * x * y + 1.0);
}

/* One forward and backward transform; returns the largest deviation of any rank, prints the norm between. */
static double play_round(struct grid *grid, int round) {
  const double points = (double)grid->side * grid->side;
  double norm = 0.0, total = 0.0, worst = 0.0, deviation = 0.0;
  transform(grid, -1);
  for (int i = 0; i < grid->rows * grid->side; ++i) norm += cabs(grid->matrix[i]);
  transform(grid, +1);
  for (int row = 0; row < grid->rows; ++row)
    for (int column = 0; column < grid->side; ++column) {
      const double off = cabs(grid->matrix[row * grid->side + column] / points - start_value(grid, row, column));
      if (!(off <= deviation)) deviation = off; /* a NaN counts as a deviation */
      grid->matrix[row * grid->side + column] = start_value(grid, row, column);
    }
  MPI_Reduce(&norm, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Allreduce(&deviation, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (grid->rank == 0 && round % 10 == 0) printf("round %4d  spectrum sum = %.10e\n", round, total);
  return worst;
}

int main(int argc, char **argv) {
  struct grid grid = {.side = argc > 1 ? atoi(argv[1]) : 512};
  const int rounds = argc > 2 ? atoi(argv[2]) : 50;
  double worst = 0.0;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &grid.ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &grid.rank);
  if (grid.side < 2 || (grid.side & (grid.side - 1)) != 0 || grid.side % grid.ranks != 0) {
    if (grid.rank == 0) fprintf(stderr, "transpose: the side must be a power of two and a multiple of the number of ranks\n");
    MPI_Finalize();
    return 2;
  }
  grid.rows = grid.side / grid.ranks;
  const size_t bytes = (size_t)grid.rows * grid.side * sizeof(point);
  grid.matrix = malloc(bytes);
  grid.packed = malloc(bytes);
  grid.received = malloc(bytes);
  for (int row = 0; row < grid.rows; ++row)
    for (int column = 0; column < grid.side; ++column) grid.matrix[row * grid.side + column] = start_value(&grid, row, column);
  for (int round = 1; round <= rounds; ++round) {
    const double deviation = play_round(&grid, round);
    if (!(deviation <= worst)) worst = deviation;
  }
  const int right = worst < 1e-9;
  if (grid.rank == 0) printf("%s: largest deviation %.1e after %d rounds\n", right ? "right" : "WRONG", worst, rounds);
  free(grid.matrix);
  free(grid.packed);
  free(grid.received);
  MPI_Finalize();
  return right ? 0 : 1;
}
