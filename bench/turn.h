// A contender's turn at one size: calls that are checked, calls that are timed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "buffers.h"
#include "calls.h"
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
  GrowableBuffer room;
  double seconds;                          // for a contender
  std::map<std::string, Buffers> buffers;  // of a contender that brings its own, and "" of all others
};

double now();
// The largest over ranks.
double slowest(double seconds);
Size make_size(const Bench& bench, std::size_t block, double seconds);
// Made when they are first asked for, which is at the same point of all ranks.
Buffers& buffers_of(const Bench& bench, const Contender& contender, Size& size);

// Fresh data, poisoned receive buffer, guard zone: how many blocks came out wrong, over all ranks.
std::uint64_t checked_call(const Bench& bench, Calls& calls);

// Seconds of `count` calls in a row, on this rank; one call before them undoes what the contender
// before has done to the caches.
double batch(Calls& calls, int count);

// One of the values, which are in order; part 0.5: the median.
double quantile(const std::vector<double>& sorted, double part);

// Which of so many values in order hold the median of what they are drawn from between them, in 95 of 100 cases at least,
// whatever the distribution. None exists for fewer than six values.
struct Interval {
  std::size_t low = 0, high = 0;
  bool exists = false;
};
Interval median_interval(std::size_t count);

// Of batches, one number each from every rank.
Statistics statistics_of(std::vector<double> seconds);

}  // namespace bench
