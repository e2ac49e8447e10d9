// Calls in a stream's order as programs make them: many before the stream is waited for.
#pragma once

#include <mpi.h>

namespace in_a_row {

constexpr int kCalls = 20;

// Time of one of the calls, waiting included. `enqueue()` and `wait()` say whether they went right.
template <class Enqueue, class Wait>
bool measure(double& seconds, Enqueue enqueue, Wait wait) {
  const double begin = PMPI_Wtime();
  bool right = true;
  for (int i = 0; right && i < kCalls; ++i) right = enqueue();
  right = wait() && right;
  seconds = (PMPI_Wtime() - begin) / kCalls;
  return right;
}

}  // namespace in_a_row
