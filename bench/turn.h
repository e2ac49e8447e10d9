// A contender's turn at one size: calls that are checked, calls that are timed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "buffers.h"
#include "harness.h"

namespace bench {

struct Bench {
  const Collective& collective;
  Options options;
  int rank, ranks;
  double began;
  std::vector<Contender> contenders;
};

// What is measured at one size.
struct Size {
  Exchange exchange;
  Room room;
  double seconds;                         // for a contender
  std::map<std::string, Buffers> buffers;  // of a contender that brings its own, and "" of all others
};

double now();
Size make_size(const Bench& bench, std::size_t block, double seconds);
// Made when they are first asked for, which is at the same point of all ranks.
Buffers& buffers_of(const Bench& bench, const Contender& contender, Size& size);

// Fresh data, poisoned receive buffer, guard zone: how many blocks came out wrong, over all ranks.
std::uint64_t checked_call(const Bench& bench, const Contender& contender, Size& size);

// Seconds of `calls` calls in a row, on this rank; one call before them undoes what the contender
// before has done to the caches.
double batch(const Bench& bench, const Contender& contender, Size& size, int calls);

struct Pace {
  int calls;        // in a batch
  int repetitions;  // batches
};

// From one timed batch: how many calls make a batch worth timing, and how many batches there is time for.
Pace find_pace(const Bench& bench, const Contender& contender, Size& size);

// Of batches, one number each from every rank.
Statistics statistics_of(std::vector<double> seconds);

}  // namespace bench
