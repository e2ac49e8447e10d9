// What a nonblocking or persistent call takes in parts, and how much of it hides behind other work, as
// osu_ialltoall and IMB-NBC define it: work of about the time of the call alone is put between start and
// wait; overlap = max(0, 100 * (1 - (total - compute) / pure)) percent.
//
// Reading the clock takes time, too: what the readings cost by themselves is taken off every part.
#pragma once

#include <array>
#include <vector>

#include "calls.h"

namespace bench {

// Seconds a call on one rank. `exposed` is total - compute, of the same rank: the largest over ranks of
// it, not the difference of two largest numbers, tells what is left of the call.
enum Part { kPure, kStart, kWait, kCompute, kTotal, kExposed, kBlocking, kParts };
using Sample = std::array<double, kParts>;

// Work without calls of MPI, cut in tests + 1 pieces with a call of MPI_Test between them.
struct Work {
  std::uint64_t units;
  int tests;
  double seconds;  // that it takes on this rank where nothing else runs
};

Work make_work(double seconds, int tests);

// One repetition, `count` calls of every kind: start and wait at once; the same with the clock read between;
// with the work between; the blocking call.
Sample take_sample(Calls& calls, int count, const Work& work);

struct Spread {
  double p25, p50, p75;
};

struct Overlap {
  std::array<Spread, kParts> us;  // microseconds, largest over ranks
  Spread percent;                 // of the call that hides behind the work
  double work_us;                 // what the work takes by itself
  double init_us;                 // making a persistent request, largest over ranks
};

// Of one sample a repetition from every rank. Collective; the same on all ranks.
Overlap overlap_of(std::vector<Sample> samples);
// The seconds of one part, for statistics.
std::vector<double> part_of(const std::vector<Sample>& samples, Part part);

}  // namespace bench
