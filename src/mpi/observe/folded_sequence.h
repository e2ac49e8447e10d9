// A sequence of numbered events in which repetitions are folded into loops, also nested ones, while it grows: a program that
// makes the same calls a million times leaves a few lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace crossrail::mpi {

// When an event happened: nanoseconds since the event before had ended, and until it ended itself.
struct EventTime {
  std::int64_t gap_ns = 0, inside_ns = 0;
};

class FoldedSequence {
 public:
  static constexpr std::size_t kMostSteps = 20'000;
  static constexpr std::size_t kWindow = 256;  // the longest body of a loop, in steps

  // False where there is no room: the sequence stays as it is.
  bool add(int event, const EventTime& time);
  // [[event, times, seconds of all gaps before it, seconds of all times inside it], or {"times": n, "body": [...]}, ...]
  std::string json() const;

 private:
  struct Step {
    std::uint64_t hash = 0;
    int event = -1;  // of a loop: none
    std::uint64_t times = 1;  // happened so often, in all; of a loop: turns each time
    std::int64_t gap_ns = 0, inside_ns = 0;  // of all
    std::vector<Step> body;
  };
  using Steps = std::vector<Step>;
  static void merge(Step& into, const Step& from);
  static std::uint64_t hash_of(const Step& loop);
  static void write(const Steps& steps, std::string& json);
  bool like_body(const Step& loop, std::size_t length) const;
  bool repeats(std::size_t length) const;
  bool fold();
  void drop_last(std::size_t length);
  Steps steps_;
  std::size_t room_used_ = 0;  // steps, those of bodies too
};

}  // namespace crossrail::mpi
