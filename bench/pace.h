// These functions decide how contenders take turns at a size: how many calls form a batch of each, and how
// many repetitions there are. All have the same number of repetitions, and they take turns to the end, so
// every repetition of one has a repetition of every other beside it. Nothing here calls MPI or reads a clock.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace bench {

// These functions perform the turns. What they return is the same on all ranks, and so is what follows from it.
struct Contest {
  std::size_t contenders;
  // Makes a batch of so many calls. Returns the seconds of one call, including everything that belongs to it.
  std::function<double(std::size_t contender, int calls)> probe;
  // Makes one repetition of batches with so many calls.
  std::function<void(std::size_t contender, int calls)> repeat;
  // Returns the seconds since some fixed time.
  std::function<double()> clock;
};

// An Effort says how much is measured at a size.
struct Effort {
  double seconds = 0;   // All contenders together have so long.
  int repetitions = 0;  // Zero means as many as the time allows.
  double batch_seconds = 200e-6;
  // There are at least so many repetitions, even if the time is over, if so many would fit it undisturbed: fewer give no interval.
  int fewest = 6;
  int fewest_slow = 3;  // There are at least so many otherwise.
};

struct Pace {
  int calls;       // A batch has so many.
  double seconds;  // They are the seconds of a call.
};

// It finds the pace of every contender. Each is probed several times in turns, and
// the median counts, so a rank that loses its core in one probe changes nothing.
std::vector<Pace> find_paces(const Contest& contest, const Effort& effort);

// Makes as many repetitions as fit the time if each takes the median of those so far. Ends when some repetitions are so long that the sum is twice
// the time. Returns how many every contender has had.
int take_turns(const Contest& contest, const Effort& effort, const std::vector<Pace>& paces);

}  // namespace bench
