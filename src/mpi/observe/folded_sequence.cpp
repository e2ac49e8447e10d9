#include "mpi/observe/folded_sequence.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace crossrail::mpi {
namespace {

// Steps with equal hashes are taken to be equal without another look, so nothing that is mixed in may cancel out.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull + value;
  hash = (hash ^ (hash >> 30)) * 0x94d049bb133111ebull;
  return hash ^ (hash >> 31);
}
constexpr std::uint64_t kEventSeed = 0x2545f4914f6cdd1dull, kLoopSeed = 0xd6e8feb86659fd93ull;

}  // namespace

bool FoldedSequence::add(int event, const EventTime& time) {
  if (room_used_ >= kMostSteps) return false;
  Step step;
  step.event = event;
  step.gap_ns = time.gap_ns;
  step.inside_ns = time.inside_ns;
  step.hash = mixed(kEventSeed, static_cast<std::uint64_t>(event));
  steps_.push_back(std::move(step));
  ++room_used_;
  while (fold()) {
  }
  return true;
}

void FoldedSequence::merge(Step& into, const Step& from) {
  if (into.event >= 0) into.times += from.times;
  into.gap_ns += from.gap_ns;
  into.inside_ns += from.inside_ns;
  for (std::size_t one = 0; one < into.body.size(); ++one) merge(into.body[one], from.body[one]);
}

std::uint64_t FoldedSequence::hash_of(const Step& loop) {
  std::uint64_t hash = mixed(kLoopSeed, loop.times);
  for (const Step& step : loop.body) hash = mixed(hash, step.hash);
  return hash;
}

bool FoldedSequence::like_body(const Step& loop, std::size_t length) const {
  return loop.body.size() == length &&
         std::equal(steps_.end() - static_cast<std::ptrdiff_t>(length), steps_.end(), loop.body.begin(),
                    [](const Step& a, const Step& b) { return a.hash == b.hash; });
}

bool FoldedSequence::repeats(std::size_t length) const {
  const auto last = steps_.end() - static_cast<std::ptrdiff_t>(length);
  return std::equal(last, steps_.end(), last - static_cast<std::ptrdiff_t>(length), [](const Step& a, const Step& b) { return a.hash == b.hash; });
}

void FoldedSequence::drop_last(std::size_t length) {
  const auto size_of = [](const auto& self, const Step& step) -> std::size_t {
    std::size_t size = 1;
    for (const Step& one : step.body) size += self(self, one);
    return size;
  };
  for (std::size_t at = steps_.size() - length; at < steps_.size(); ++at) room_used_ -= size_of(size_of, steps_[at]);
  steps_.resize(steps_.size() - length);
}

// Folds the last steps if they are one more turn of the loop before them, or equal to the steps before them.
bool FoldedSequence::fold() {
  const std::size_t size = steps_.size();
  const std::uint64_t last = steps_.back().hash;
  for (std::size_t length = 1; length < size && length <= kWindow; ++length) {
    Step& before = steps_[size - length - 1];
    if (!before.body.empty() && before.body.back().hash == last && like_body(before, length)) {
      for (std::size_t one = 0; one < length; ++one) merge(before.body[one], steps_[size - length + one]);
      ++before.times;
      before.hash = hash_of(before);
      drop_last(length);
      return true;
    }
    if (before.hash != last || 2 * length > size || !repeats(length)) continue;
    Step loop;
    loop.times = 2;
    for (std::size_t one = 0; one < length; ++one) {
      merge(steps_[size - 2 * length + one], steps_[size - length + one]);
      loop.body.push_back(std::move(steps_[size - 2 * length + one]));
    }
    loop.hash = hash_of(loop);
    drop_last(length);
    steps_.resize(size - 2 * length);
    steps_.push_back(std::move(loop));
    ++room_used_;
    return true;
  }
  return false;
}

void FoldedSequence::write(const Steps& steps, std::string& json) {
  const char* comma = "";
  for (const Step& step : steps) {
    char text[128];
    json += comma;
    comma = ",";
    if (step.event >= 0) {
      std::snprintf(text, sizeof text, "[%d,%llu,%.9f,%.9f]", step.event, static_cast<unsigned long long>(step.times),
                    static_cast<double>(step.gap_ns) * 1e-9, static_cast<double>(step.inside_ns) * 1e-9);
      json += text;
      continue;
    }
    json += "{\"times\":" + std::to_string(step.times) + ",\"body\":[";
    write(step.body, json);
    json += "]}";
  }
}

std::string FoldedSequence::json() const {
  std::string json = "[";
  write(steps_, json);
  return json + "]";
}

}  // namespace crossrail::mpi
