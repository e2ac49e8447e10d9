// These functions measure the parts of a nonblocking or persistent call, and how much of it overlaps
// with other work, as osu_ialltoall and IMB-NBC define it: work that takes about as long as the call
// alone is put between start and wait; overlap = max(0, 100 * (1 - (total - compute) / pure)) percent.
//
// Reading the clock takes time, too. The cost of the readings is subtracted from every part.
#pragma once

#include <array>
#include <vector>

#include "calls.h"

namespace bench {

// These are the seconds of a call on one rank. `exposed` is total - compute of the same rank. What is left of the call is the largest of these over
// the ranks, and not the difference of the two largest times.
enum Part { kPure, kStart, kWait, kCompute, kTotal, kExposed, kBlocking, kParts };
using Sample = std::array<double, kParts>;

// The Work has no calls of MPI and is cut into tests + 1 pieces with a call of MPI_Test between them.
struct Work {
  std::uint64_t units;
  int tests;
  double seconds;  // It takes so long on this rank if nothing else runs.
};

Work make_work(double seconds, int tests);

// Makes one repetition, `count` calls of every kind: start and wait directly after each
// other; the same with the clock read between; with the work between; the blocking call.
Sample take_sample(Calls& calls, int count, const Work& work);

struct Spread {
  double p25, p50, p75;
};

struct Overlap {
  std::array<Spread, kParts> us;  // These are microseconds, the largest over ranks.
  Spread percent;                 // It is the part of the call that overlaps with the work.
  double work_us;                 // The work takes so long by itself.
  double init_us;                 // It is the time to make a persistent request, the largest over ranks.
};

// It takes one sample per repetition from every rank. Collective; the result is the same on all ranks.
Overlap overlap_of(std::vector<Sample> samples);
// Returns the seconds of one part, for statistics.
std::vector<double> part_of(const std::vector<Sample>& samples, Part part);

}  // namespace bench
