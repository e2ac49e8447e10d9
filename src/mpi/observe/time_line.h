// TimeLine says when a process was inside collective calls, in seconds for each part of the run. All parts have the same length, which
// grows with the run so that there are never more than kParts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace crossrail::mpi {

class TimeLine {
 public:
  static constexpr std::size_t kParts = 128;
  using Seconds = std::array<double, kParts>;
  struct Read {
    double part_seconds = 0;
    Seconds carried{}, native{};
  };

  explicit TimeLine(std::int64_t began_ns) : began_ns_(began_ns) {}
  // Adds a call that ended at `now_ns` after `spent_ns`. Any thread may call it; the times of threads add up.
  void add(bool carried, std::int64_t now_ns, std::int64_t spent_ns);
  Read read() const;
  std::int64_t began_ns() const { return began_ns_; }

 private:
  using Nanoseconds = std::array<std::int64_t, kParts>;  // They are not floats, because the program may have asked for floating-point traps.
  static void halve(Nanoseconds& parts);
  void widen();
  mutable std::mutex mutex_;
  std::int64_t began_ns_;
  std::int64_t part_ns_ = 10'000'000;
  Nanoseconds carried_{}, native_{};
};

}  // namespace crossrail::mpi
