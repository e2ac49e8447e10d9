/* Pending calls heed what programs do to floating-point numbers, whoever advances them. The program tests rounding, traps that were on when earlier
 * calls were made, and flags.
 *
 *   float_environment */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* It declares feenableexcept. */
#endif
#include <fenv.h>
#include <math.h>

#include "check.h"

static double reduced(double value, int pending) {
  double sum = 0;
  MPI_Request request;
  if (!pending) MPI_OK(MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
  if (pending) {
    MPI_OK(MPI_Iallreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request));
    MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  return sum;
}

static void calls(int how_many) {
  int one = 1, all = 0;
  for (int call = 0; call < how_many; ++call) {
    MPI_Request request;
    MPI_OK(MPI_Iallreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_OK(MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(all == size_of_comm(MPI_COMM_WORLD), "%d of all ranks", all);
  }
}

static void rounding(int rank) {
  static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};
  for (int mode = 0; mode < 4; ++mode) {
    fesetround(modes[mode]);
    const double value = rank == 0 ? 1.0 : 1e-30, now = reduced(value, 0), later = reduced(value, 1);
    CHECK(now == later, "rounding %d: %.17g by MPI_Allreduce, %.17g by MPI_Iallreduce", mode, now, later);
    CHECK(mode != 0 || later > 1.0, "not rounded upwards");
  }
}

static void flags(int rank) {
  for (int pending = 0; pending < 2; ++pending) {
    feclearexcept(FE_ALL_EXCEPT);
    const double sum = reduced(rank == 0 ? INFINITY : -INFINITY, pending);
    CHECK(isnan(sum), "no NaN but %g", sum);
  }
  feclearexcept(FE_ALL_EXCEPT);
  calls(300);
  CHECK(fetestexcept(FE_ALL_EXCEPT) == 0, "flags %x of calls on ints", fetestexcept(FE_ALL_EXCEPT));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rank = rank_in(MPI_COMM_WORLD);
  feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_INEXACT);
  calls(300); /* They run on stacks, by threads made here, and are compared with native ones. */
  fedisableexcept(FE_ALL_EXCEPT);
  rounding(rank);
  flags(rank);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
