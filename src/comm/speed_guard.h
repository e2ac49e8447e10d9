// SpeedGuard: whether the MPI library's own collective is the faster one for calls of some size, found out on the
// program's own calls. A wrong tuning table, a busy machine or an odd fabric then costs per cents, never factors
// (docs/decisions/0020-compared-with-native.md).
//
// Blocking calls on host memory are of one class if their blocks have equally many bits of length; all v-calls are of
// one. Now and then a call of a class goes the other way, with calls of the usual way beside it, and all are timed
// (a look). If the other way was not much slower, some calls of either way tell (two confirmations, in each of which
// every call of the other way must have been quicker than every one of the usual way). Then the ways change places.
// No floating-point numbers: the program may have asked for traps of theirs, and looks at their flags.
// Windows come ever more seldom, so that the time spent in slower calls stays about a part in `calls_between`.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/shape.h"

namespace crossrail {

class SpeedGuard {
 public:
  // Calls of a class before its first window; 0: nothing is compared.
  explicit SpeedGuard(std::uint64_t calls_between = 0) : calls_between_(calls_between) {}
  bool on() const { return calls_between_ != 0; }

  // A call of this Shape begins. All ranks call these alike, in this order.
  // Not empty: a window has ended. Every value is to be replaced by the largest of all ranks, before `judge`.
  using Nanoseconds = std::uint32_t;
  static constexpr Nanoseconds kFailed = ~Nanoseconds{0};
  std::span<Nanoseconds> to_agree(const Shape& shape);
  // Where the program's calls go from now on changes. Only after to_agree.
  enum class Verdict { as_before, given_back, taken_back };
  Verdict judge(const Shape& shape);
  // Whether this call is the MPI library's.
  bool native(const Shape& shape);

  // Whether the call that has begun is timed; then `ended` belongs at its end, by whichever way it went.
  bool timing() const { return timed_ != kNone; }
  void ended(bool well = true);
  void took(Nanoseconds time);  // tests: instead of `ended`

 private:
  static constexpr int kMostSamples = 12;
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct SizeClass {
    Collective collective;
    int bits;
    bool given_back = false;
    bool confirming = false;
    int confirmed = 0;
    std::uint64_t calls = 0;
    std::uint64_t window = 0;    // begins after so many calls
    std::uint64_t interval = 0;  // to the next one
    int sample = 0;              // of the window
    std::array<Nanoseconds, kMostSamples> values{};
  };
  struct Compared {
    std::uint64_t slowest_usual, quickest_usual, slowest_other;  // ns; kFailed at most
  };
  std::size_t class_of(const Shape& shape);
  Compared compare(const SizeClass& one) const;
  void close(SizeClass& one, const Compared& seen);

  std::uint64_t calls_between_;
  std::vector<SizeClass> classes_;
  std::size_t timed_ = kNone;
  std::int64_t began_ns_ = 0;
};

// What was compared in this process so far, on all communicators.
struct ComparedCalls {
  Collective collective;
  std::uint64_t least_bytes, most_bytes;  // of a block; of v-calls 0 and 0
  std::uint64_t windows = 0;
  std::uint64_t given_back = 0, taken_back = 0;  // so often
  SpeedGuard::Nanoseconds carried_ns = 0, native_ns = 0;  // a call, in the last window; the quickest of either way
};
std::vector<ComparedCalls> compared_calls();

}  // namespace crossrail
