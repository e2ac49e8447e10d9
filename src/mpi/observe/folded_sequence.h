// FoldedSequence is a sequence of numbered events that folds repetitions into loops, also nested ones, while it grows. So a program that
// makes the same calls a million times leaves only a few lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace crossrail::mpi {

// This says when an event happened: the nanoseconds from the end of the event before to its beginning, and from its beginning to its end.
struct EventTime {
  std::int64_t gap_ns = 0, inside_ns = 0;
};

class FoldedSequence {
 public:
  static constexpr std::size_t kMostSteps = 20'000;
  static constexpr std::size_t kWindow = 256;  // The body of a loop has at most this many steps.

  // Returns false if there is no room. The sequence then stays as it is.
  bool add(int event, const EventTime& time);
  // Returns [[event, times, seconds of all gaps before it, seconds of all times inside it], or {"times": n, "body": [...]}, ...].
  std::string json() const;

 private:
  struct Step {
    std::uint64_t hash = 0;
    int event = -1;  // It is -1 for a loop.
    std::uint64_t times = 1;  // This is how often the event happened in all, or how often a loop turned each time.
    std::int64_t gap_ns = 0, inside_ns = 0;  // These are sums over all times.
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
  std::size_t room_used_ = 0;  // This counts all steps, also those in bodies.
};

}  // namespace crossrail::mpi
