// How contenders take turns at a size: how many calls make a batch of each, and how many repetitions there are. That is one number for all
// of them, and they take turns to the end: every repetition of one has a repetition of every other beside it. Nothing here calls MPI or
// reads a clock.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace bench {

// What takes turns. All that the functions return is the same on all ranks, and so is what is made of it.
struct Contest {
  std::size_t contenders;
  // Makes a batch of so many calls. Returns the seconds of one, with all that belongs to it.
  std::function<double(std::size_t contender, int calls)> probe;
  // Makes one repetition, of batches of so many calls.
  std::function<void(std::size_t contender, int calls)> repeat;
  // Returns the seconds since some fixed time.
  std::function<double()> clock;
};

// How much is measured at a size.
struct Effort {
  double seconds = 0;   // for all contenders
  int repetitions = 0;  // 0: as many as the time allows
  double batch_seconds = 200e-6;
  int fewest = 6;       // repetitions, even if the time is over, where so many would fit it undisturbed: of fewer there is no interval
  int fewest_slow = 3;  // where they would not
};

struct Pace {
  int calls;       // in a batch
  double seconds;  // of a call
};

// Of every contender. Each is probed several times, in turns, and the median counts: a rank that loses its core in one probe changes nothing.
std::vector<Pace> find_paces(const Contest& contest, const Effort& effort);

// Makes as many repetitions as fit the time if each takes the median of those so far. Where single ones are so long that the sum is
// twice the time, it ends. Returns how many every contender has had.
int take_turns(const Contest& contest, const Effort& effort, const std::vector<Pace>& paces);

}  // namespace bench
