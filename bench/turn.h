// A turn of a contender at one size consists of calls that are checked and calls that are timed.
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

// A Size is what is measured at one size.
struct Size {
  Exchange exchange;
  GrowableBuffer room;
  double seconds;                          // A contender has so many.
  std::map<std::string, Buffers> buffers;  // A contender that brings its own buffers has an entry; all others share "".
};

double now();
// Returns the largest value over ranks.
double slowest(double seconds);
Size make_size(const Bench& bench, std::size_t block, double seconds);
// They are made when they are first asked for, which all ranks do at the same point.
Buffers& buffers_of(const Bench& bench, const Contender& contender, Size& size);

// Makes a call with fresh data, a poisoned receive buffer and a guard zone. Returns how many blocks were wrong over all ranks.
std::uint64_t checked_call(const Bench& bench, Calls& calls);

// Returns the seconds of `count` consecutive calls on this rank. One call before them undoes what the contender before has done to the caches.
double batch(Calls& calls, int count);

// Returns one of the values, which are sorted; part 0.5 is the median.
double quantile(const std::vector<double>& sorted, double part);

// Says which of so many sorted values enclose the median of their distribution in at least 95 of 100 cases, whatever the distribution is. There is
// none for fewer than six values.
struct Interval {
  std::size_t low = 0, high = 0;
  bool exists = false;
};
Interval median_interval(std::size_t count);

// It takes one number per batch from every rank.
Statistics statistics_of(std::vector<double> seconds);

}  // namespace bench
