#include "comm/speed_guard.h"

#include <time.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <string_view>

namespace crossrail {
namespace {

// u means the usual way and o the other one. Calls with capital letters do not count, because a call is slower after one of the other kind, which has
// left ranks and caches in another state. So a look only tells whether the other way may be worth confirming.
constexpr std::string_view kLook = "uuou", kConfirmation = "UUuuuuOOoooo";
// The other way is worth confirming if it takes less than one and a half times as long as the usual way.
constexpr std::uint64_t kWorthHalves = 3;
constexpr int kConfirmations = 2;
constexpr std::uint64_t kLongestInterval = 100;  // The unit is the first interval.

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

// If all ranks have equal work, the rank that came last has waited least, so the quickest rank's time is the call's own. In calls with a length for
// every block, a rank may have nothing to do.
bool quickest_counts(Collective collective) {
  const Counts counts = row_of(collective).counts;
  return counts != Counts::vector && counts != Counts::table;
}

// All ranks find the largest value of the times, which is that of the slowest rank. With inverted times it is that of the quickest.
SpeedGuard::Nanoseconds value_of(Collective collective, SpeedGuard::Nanoseconds time) { return quickest_counts(collective) ? ~time : time; }

bool is_other(char call) { return call == 'o' || call == 'O'; }

std::mutex mutex;
std::vector<ComparedCalls>& all_compared() {
  static auto& all = *new std::vector<ComparedCalls>;  // It outlives every static object, because reports come late.
  return all;
}

ComparedCalls& compared_of(Collective collective, int class_bits) {
  const std::uint64_t least = class_bits == 0 ? 0 : std::uint64_t{1} << (class_bits - 1), most = class_bits == 0 ? 0 : least - 1 + least;
  for (ComparedCalls& one : all_compared()) {
    if (one.collective == collective && one.most_bytes == most) return one;
  }
  return all_compared().emplace_back(ComparedCalls{collective, least, most});
}

}  // namespace

std::vector<ComparedCalls> compared_calls() {
  const std::lock_guard lock(mutex);
  return all_compared();
}

std::size_t SpeedGuard::class_of(const Shape& shape) {
  const int bits = std::bit_width(shape.block_bytes);
  std::size_t at = 0;
  while (at < classes_.size() && (classes_[at].bits != bits || classes_[at].collective != shape.collective)) ++at;
  if (at == classes_.size()) {
    SizeClass& made = classes_.emplace_back(SizeClass{shape.collective, bits});
    made.window = made.interval = calls_between_;
  }
  last_bytes_ = shape.block_bytes;
  last_collective_ = shape.collective;
  return last_ = at;
}

std::span<SpeedGuard::Nanoseconds> SpeedGuard::to_agree(const Shape& shape) {
  SizeClass& one = classes_[class_of(shape)];
  const std::size_t samples = (one.confirming ? kConfirmation : kLook).size();
  return static_cast<std::size_t>(one.sample) < samples ? std::span<Nanoseconds>() : std::span(one.values.data(), samples);
}

SpeedGuard::Compared SpeedGuard::compare(const SizeClass& one) const {
  const std::string_view pattern = one.confirming ? kConfirmation : kLook;
  Compared seen{0, kFailed, 0};
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const std::uint64_t time = value_of(one.collective, one.values[at]);  // The function is its own inverse.
    if (pattern[at] == 'U' || pattern[at] == 'O') continue;
    if (is_other(pattern[at])) {
      seen.slowest_other = std::max(seen.slowest_other, time);
    } else {
      seen.slowest_usual = std::max(seen.slowest_usual, time);
      seen.quickest_usual = std::min(seen.quickest_usual, time);
    }
  }
  return seen;
}

// If the other way is slower, the next window waits longer.
void SpeedGuard::close(SizeClass& one, const Compared& seen) {
  const bool known = seen.slowest_other != kFailed && seen.quickest_usual > 0;
  const std::uint64_t percent = known ? std::clamp(100 * seen.slowest_other / seen.quickest_usual, std::uint64_t{100}, 100 * kLongestInterval) : 100;
  const std::uint64_t at_least = calls_between_ * percent / 100;
  one.window = one.calls + std::max(one.interval, at_least);
  one.interval = std::min(2 * one.interval, kLongestInterval * calls_between_);
  one.confirming = false;
  one.confirmed = 0;
}

SpeedGuard::Verdict SpeedGuard::judge(const Shape& shape) {
  SizeClass& one = classes_[class_of(shape)];
  const Compared seen = compare(one);
  const bool was_given_back = one.given_back, was_confirming = one.confirming;
  one.sample = 0;
  const bool quicker = seen.slowest_other != kFailed &&
                       2 * seen.slowest_other < (was_confirming ? 2 * seen.quickest_usual : kWorthHalves * seen.slowest_usual);
  one.confirming = quicker;
  if (quicker && was_confirming && ++one.confirmed == kConfirmations) {
    one.given_back = !one.given_back;
    one.interval = calls_between_;
  }
  const bool changed = one.given_back != was_given_back;
  if (changed || !quicker) close(one, seen);
  const std::lock_guard lock(mutex);
  ComparedCalls& noted = compared_of(one.collective, one.bits);
  ++noted.windows;
  noted.given_back += changed && one.given_back ? 1 : 0;
  noted.taken_back += changed && !one.given_back ? 1 : 0;
  (was_given_back ? noted.native_ns : noted.carried_ns) = static_cast<Nanoseconds>(seen.quickest_usual);
  (was_given_back ? noted.carried_ns : noted.native_ns) = static_cast<Nanoseconds>(seen.slowest_other);
  return !changed ? Verdict::as_before : one.given_back ? Verdict::given_back : Verdict::taken_back;
}

bool SpeedGuard::native(const Shape& shape) {
  const std::size_t at = class_of(shape);
  SizeClass& one = classes_[at];
  timed_ = kNone;
  if (++one.calls <= one.window) return one.given_back;
  const std::string_view pattern = one.confirming ? kConfirmation : kLook;
  const auto sample = static_cast<std::size_t>(one.sample++);
  timed_ = at;
  one.values[sample] = value_of(one.collective, kFailed);  // This value stays if the call fails.
  began_ns_ = now_ns();
  return is_other(pattern[sample]) != one.given_back;
}

void SpeedGuard::ended(bool well) {
  if (!well) {
    timed_ = kNone;
    return;
  }
  took(static_cast<Nanoseconds>(std::clamp<std::int64_t>(now_ns() - began_ns_, 1, kFailed - 1)));
}

void SpeedGuard::took(Nanoseconds time) {
  SizeClass& one = classes_[timed_];
  one.values[static_cast<std::size_t>(one.sample - 1)] = value_of(one.collective, time);
  timed_ = kNone;
}

}  // namespace crossrail
