// FirstCalls counts the calls on a communicator before it is opened, which are native. It decides in which of them all ranks ask each other whether
// to open it, and whether this rank thinks that opening pays (docs/decisions/0031-opened-when-worth-it.md).
#pragma once

#include <cstdint>

namespace crossrail::mpi {

class FirstCalls {
 public:
  // Some programs make communicators by the dozen and make only a few calls on each of them.
  static constexpr std::uint64_t kFew = 8;
  static constexpr std::uint64_t kCallsATiming = 8;

  // A call begins, whatever its arguments are. Returns true in the same calls on all ranks:
  // in these the ranks ask each other. The first nonblocking call is never one of them.
  bool begin_blocking(bool alltoall);
  bool begin_nonblocking(std::int64_t now_ns);
  // A blocking collective begins that crossrail never handles. It matters after
  // nonblocking calls, which cannot wait for other ranks to open the communicator.
  bool begin_other();
  std::uint64_t nonblocking() const { return nonblocking_; }

  // Returns whether the blocking call that has begun is timed. Reading the clock is a good part of what crossrail adds to a short call. Therefore
  // only one call in eight is timed after the first few, and it stands for all eight.
  bool times_this_call() const { return blocking_ <= kFew || blocking_ % kCallsATiming == 0; }
  // The timed call has taken `ns`.
  void took(std::int64_t ns) { blocking_ns_ += blocking_ <= kFew ? ns : ns * static_cast<std::int64_t>(kCallsATiming); }
  // One call alone was long enough to make opening worth it, but its ranks could not ask each other or were not asked.
  void was_long() { long_one_ = true; }
  // `opening_ns` is the time that opening takes.
  bool worth_opening(std::int64_t now_ns, std::int64_t opening_ns) const;

 private:
  std::uint64_t blocking_ = 0;  // Once there has been a nonblocking call, only later blocking calls count.
  std::uint64_t nonblocking_ = 0;
  std::int64_t blocking_ns_ = 0, first_nonblocking_ns_ = 0;
  bool long_one_ = false;
};

}  // namespace crossrail::mpi
