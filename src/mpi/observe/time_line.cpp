#include "mpi/observe/time_line.h"

#include <algorithm>

namespace crossrail::mpi {

void TimeLine::halve(Nanoseconds& parts) {
  for (std::size_t part = 0; part < kParts / 2; ++part) parts[part] = parts[2 * part] + parts[2 * part + 1];
  std::fill(parts.begin() + kParts / 2, parts.end(), 0);
}

void TimeLine::widen() {
  part_ns_ *= 2;
  halve(carried_);
  halve(native_);
}

void TimeLine::add(bool carried, std::int64_t now_ns, std::int64_t spent_ns) {
  const std::lock_guard lock(mutex_);
  const std::int64_t end = std::max<std::int64_t>(now_ns - began_ns_, 0);
  std::int64_t at = std::clamp<std::int64_t>(end - spent_ns, 0, end);
  while (end >= part_ns_ * static_cast<std::int64_t>(kParts)) widen();
  Nanoseconds& parts = carried ? carried_ : native_;
  while (at < end) {
    const std::int64_t part = at / part_ns_, until = std::min(end, (part + 1) * part_ns_);
    parts[static_cast<std::size_t>(part)] += until - at;
    at = until;
  }
}

TimeLine::Read TimeLine::read() const {
  const std::lock_guard lock(mutex_);
  const auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-9; };
  Read read{seconds(part_ns_), {}, {}};
  std::transform(carried_.begin(), carried_.end(), read.carried.begin(), seconds);
  std::transform(native_.begin(), native_.end(), read.native.begin(), seconds);
  return read;
}

}  // namespace crossrail::mpi
