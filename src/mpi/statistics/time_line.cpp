#include "mpi/statistics/time_line.h"

#include <algorithm>

namespace crossrail::mpi {
namespace {

void halve(TimeLine::Seconds& parts) {
  for (std::size_t part = 0; part < TimeLine::kParts / 2; ++part) parts[part] = parts[2 * part] + parts[2 * part + 1];
  std::fill(parts.begin() + TimeLine::kParts / 2, parts.end(), 0.0);
}

}  // namespace

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
  Seconds& seconds = carried ? carried_ : native_;
  while (at < end) {
    const std::int64_t part = at / part_ns_, until = std::min(end, (part + 1) * part_ns_);
    seconds[static_cast<std::size_t>(part)] += static_cast<double>(until - at) * 1e-9;
    at = until;
  }
}

TimeLine::Read TimeLine::read() const {
  const std::lock_guard lock(mutex_);
  return {static_cast<double>(part_ns_) * 1e-9, carried_, native_};
}

}  // namespace crossrail::mpi
