// FirstCalls: the calls on a communicator before it is opened, which are the MPI library's: in which of them all ranks ask each other
// whether to open it, and whether this rank thinks that worth while (docs/decisions/0031-opened-when-worth-it.md).
#pragma once

#include <cstdint>

namespace crossrail::mpi {

class FirstCalls {
 public:
  // Programs make a few of these on communicators that they make by the dozen, and a few nonblocking ones.
  static constexpr std::uint64_t kFew = 8;
  static constexpr std::uint64_t kCallsATiming = 8;

  // A call begins, whatever its arguments. True, in the same calls on all ranks: they ask each other in it. Of nonblocking calls the
  // first one is none of those.
  bool begin_blocking(bool alltoall);
  bool begin_nonblocking(std::int64_t now_ns);
  // A blocking collective that is never ours: matters where there have been nonblocking ones, which cannot wait for others to open it.
  bool begin_other();
  std::uint64_t nonblocking() const { return nonblocking_; }

  // Whether the blocking call that has begun is timed: reading the clock would be a good part of what crossrail adds to a short call, so that
  // after the first few only one call in eight is, and stands for all of them.
  bool times_this_call() const { return blocking_ <= kFew || blocking_ % kCallsATiming == 0; }
  // The timed call has taken so long.
  void took(std::int64_t ns) { blocking_ns_ += blocking_ <= kFew ? ns : ns * static_cast<std::int64_t>(kCallsATiming); }
  // A call that alone was worth it, but whose ranks could not ask each other, or were not asked.
  void was_long() { long_one_ = true; }
  // To open it takes so long.
  bool worth_opening(std::int64_t now_ns, std::int64_t opening_ns) const;

 private:
  std::uint64_t blocking_ = 0;  // since the first nonblocking one, where there has been one
  std::uint64_t nonblocking_ = 0;
  std::int64_t blocking_ns_ = 0, first_nonblocking_ns_ = 0;
  bool long_one_ = false;
};

}  // namespace crossrail::mpi
