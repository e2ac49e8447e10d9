// What this process's MPI calls came to, for CROSSRAIL_REPORT. Nothing is counted without it.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/interpose/carry.h"
#include "mpi/statistics/overlap.h"

namespace crossrail::mpi {

// Who carries a nonblocking or persistent call.
enum class By { crossrail, native };

// One interposed name. Static objects, one for each entry point.
class CallCounter {
 public:
  CallCounter(const char* name, const char* interface);
  // A call, and the time that the program spent in it. Of nonblocking and persistent calls the times are in `overlap`.
  void add(const Carried& carried, std::int64_t nanoseconds);
  Overlap& overlap(By by) { return by == By::crossrail ? overlap_ : native_overlap_; }

 private:
  friend struct Report;
  static constexpr int kSizes = 64;       // histogram: blocks of up to 2^i bytes
  static constexpr int kAlgorithms = 32;  // distinct names seen
  struct AlgorithmCount {
    std::atomic<const char*> name{nullptr};
    std::atomic<std::uint64_t> calls{0};
  };
  const char* name_;
  const char* interface_;
  std::atomic<std::uint64_t> carried_{0}, native_{0}, errors_{0}, nanoseconds_{0}, bytes_{0};
  std::atomic<std::uint64_t> histogram_[kSizes] = {};
  AlgorithmCount algorithms_[kAlgorithms];
  Overlap overlap_, native_overlap_;
  CallCounter* next_;
};

bool counting();
std::int64_t now_ns();
// The program has called a function that starts calls: the time, 0 where nothing is counted. Kept for what this thread begins.
std::int64_t clock_entry();
std::int64_t entered_ns();
// Writes <folder>/<host>.<pid>.json; later calls replace it. `rank` and `size` of the world, -1 if unknown.
void write_report();
void note_world(int rank, int size);
// The program ends MPI: the last time to ask, where nothing else has told.
void ask_world();

}  // namespace crossrail::mpi
