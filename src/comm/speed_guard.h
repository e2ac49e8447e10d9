// SpeedGuard finds out on the program's own calls whether MPI's own collective is faster for calls of some size. A wrong tuning table, a
// busy machine or an odd fabric then costs per cents, never factors (docs/decisions/0020-compared-with-native.md).
//
// Blocking calls on host memory belong to one class if their block sizes have equally many bits; all v-calls are one class. Now and then a
// call of a class goes the other way, beside calls of the usual way, and all of them are timed (a look). If the other way was not much
// slower, a few calls of either way decide in two confirmations, in each of which every call of the other way must be quicker than every
// call of the usual way. Then the ways change places. Windows come ever more seldom, so that the time spent in slower calls stays about one
// part in `calls_between`. Nothing is computed with floating-point numbers, because the program may have asked for their traps and reads
// their flags.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/shape.h"

namespace crossrail {

class SpeedGuard {
 public:
  // `calls_between` is the number of calls of a class before its first window. 0 means that nothing is compared.
  explicit SpeedGuard(std::uint64_t calls_between = 0) : calls_between_(calls_between) {}
  bool on() const { return calls_between_ != 0; }

  // All ranks call the following alike, in this order, when a call of this Shape begins.
  //
  // Does the work of the other functions for a call between two windows if the call before it had the same size. Nearly every call is such a one.
  // If it returns false, the others must be called.
  bool between_windows(const Shape& shape, bool& native) {
    if (shape.block_bytes != last_bytes_ || shape.collective != last_collective_) return false;
    SizeClass& one = classes_[last_];
    if (one.calls >= one.window) return false;
    ++one.calls;
    timed_ = kNone;
    native = one.given_back;
    return true;
  }
  // Returns a non-empty list if a window has ended. Every value must then be replaced by the largest of all ranks before `judge`.
  using Nanoseconds = std::uint32_t;
  static constexpr Nanoseconds kFailed = ~Nanoseconds{0};
  std::span<Nanoseconds> to_agree(const Shape& shape);
  // Decides where the program's calls go from now on, and returns whether that has changed. It may be called only after to_agree.
  enum class Verdict { as_before, given_back, taken_back };
  Verdict judge(const Shape& shape);
  // Returns whether this call goes to MPI.
  bool native(const Shape& shape);

  // Returns whether the call that has begun is timed. Then `ended` must follow at its end, whichever way it went.
  bool timing() const { return timed_ != kNone; }
  void ended(bool well = true);
  void took(Nanoseconds time);  // Tests call it instead of `ended`.

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
    std::uint64_t window = 0;    // So many calls come before it begins.
    std::uint64_t interval = 0;  // The next one begins so many calls later.
    int sample = 0;              // It is the sample of the window that comes next.
    std::array<Nanoseconds, kMostSamples> values{};
  };
  struct Compared {
    std::uint64_t slowest_usual, quickest_usual, slowest_other;  // They are ns, at most kFailed.
  };
  std::size_t class_of(const Shape& shape);
  Compared compare(const SizeClass& one) const;
  void close(SizeClass& one, const Compared& seen);

  std::uint64_t calls_between_;
  std::vector<SizeClass> classes_;
  // The call before had this collective and size, and belonged to this class.
  std::uint64_t last_bytes_ = ~std::uint64_t{0};
  Collective last_collective_ = Collective::alltoall;
  std::size_t last_ = kNone;
  std::size_t timed_ = kNone;
  std::int64_t began_ns_ = 0;
};

// It is what was compared in this process so far, on all communicators.
struct ComparedCalls {
  Collective collective;
  std::uint64_t least_bytes, most_bytes;  // They are bytes of a block; both are 0 for v-calls.
  std::uint64_t windows = 0;
  std::uint64_t given_back = 0, taken_back = 0;  // They count how often that happened.
  SpeedGuard::Nanoseconds carried_ns = 0, native_ns = 0;  // They are the quickest calls of both ways in the last window.
};
std::vector<ComparedCalls> compared_calls();

}  // namespace crossrail
