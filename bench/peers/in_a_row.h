// These are calls in a stream's order as programs make them: many calls before the stream is waited for.
#pragma once

#include <mpi.h>

namespace in_a_row {

constexpr int kCalls = 20;

// Measures the time of one of the calls, including the wait. `enqueue()` and `wait()` return whether they succeeded.
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
