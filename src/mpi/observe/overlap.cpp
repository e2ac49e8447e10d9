#include "mpi/observe/overlap.h"

#include <algorithm>

namespace crossrail::mpi {

void Overlap::begins(std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (under_way_++ == 0) first_began_ns_ = now_ns;
}

void Overlap::started(std::int64_t nanoseconds) {
  const std::lock_guard lock(mutex_);
  times_.starting_ns += nanoseconds;
}

void Overlap::ends(std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  ++times_.calls;
  if (under_way_ == 0) return;  // The call had begun before anything was counted.
  if (--under_way_ == 0) times_.under_way_ns += std::max<std::int64_t>(0, now_ns - first_began_ns_);
}

void Overlap::waited(std::int64_t nanoseconds) {
  const std::lock_guard lock(mutex_);
  times_.waiting_ns += nanoseconds;
}

Overlap::Times Overlap::times() const {
  const std::lock_guard lock(mutex_);
  return times_;
}

}  // namespace crossrail::mpi
