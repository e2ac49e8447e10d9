#include "nccl/captures.h"

#include <algorithm>
#include <set>

#include "nccl/driver.h"

namespace crossrail::nccl {
namespace {

using Nodes = std::vector<void*>;
constexpr int kNotCaptured = 0, kCaptured = 1;  // A capture that has been spoilt is neither.

// Reads after which nodes the stream's next work would come.
bool read_last(Stream stream, Nodes& nodes) {
  int status = 0;
  void* const* all = nullptr;
  std::size_t count = 0;
  if (driver().capture_info(stream, &status, nullptr, nullptr, &all, &count) != 0 || status != kCaptured) return false;
  nodes.assign(all, all + count);
  return true;
}

Nodes without(const Nodes& nodes, const Nodes& others) {
  Nodes rest;
  for (void* const node : nodes) {
    if (std::find(others.begin(), others.end(), node) == others.end()) rest.push_back(node);
  }
  return rest;
}

// Returns whether what comes after `nodes` comes after all of `earlier` too, as far as one can see without looking at a large part of the graph.
bool follow(const Nodes& nodes, const Nodes& earlier) {
  constexpr std::size_t kMostNodes = 1000, kMostBefore = 64;
  std::set<void*> missing(earlier.begin(), earlier.end()), seen;
  Nodes reached;
  const auto reach = [&](void* node) {
    missing.erase(node);
    if (node != nullptr && seen.insert(node).second) reached.push_back(node);
  };
  std::for_each(nodes.begin(), nodes.end(), reach);
  for (std::size_t at = 0; at < reached.size() && reached.size() < kMostNodes && !missing.empty(); ++at) {
    void* before[kMostBefore] = {};
    std::size_t count = kMostBefore;
    if (driver().before(reached[at], before, &count) != 0) return false;
    std::for_each(before, before + std::min(count, kMostBefore), reach);
  }
  return missing.empty();
}

// A stream whose work follows the nodes already gets no edges to them: they would be there at every launch of the graph.
bool let_follow(Stream stream, const Nodes& earlier) {
  constexpr unsigned kAdd = 0;
  Nodes now;
  if (!read_last(stream, now)) return false;
  if (follow(now, earlier)) return true;
  const Nodes missing = without(earlier, now);
  return driver().add_to_stream(stream, missing.data(), missing.size(), kAdd) == 0;
}

// The driver calls it on a thread of its own, where no function of the driver may be called.
void graph_is_gone(void* graphs) { static_cast<std::atomic<std::uint64_t>*>(graphs)->fetch_sub(1, std::memory_order_release); }

}  // namespace

Place place_of(Stream stream) {
  Place place;
  place.stream = stream;
  if (!driver().orders_streams) return place;
  int status = 0;
  const bool follows = driver().orders_captures;
  const int result = follows ? driver().capture_info(stream, &status, &place.capture, &place.graph, nullptr, nullptr) : driver().capturing(stream, &status);
  if (result != 0) return place;
  if (status == kNotCaptured) place.kind = Place::Kind::eager;
  if (status == kCaptured && follows) place.kind = Place::Kind::captured;
  return place;
}

Captures::Capture* Captures::find(std::uint64_t number) {
  const auto found = std::find_if(captures_.begin(), captures_.end(), [&](const Capture& one) { return one.number == number; });
  return found == captures_.end() ? nullptr : &*found;
}

// The graph and what the program makes of it say when all of them are gone.
bool Captures::live_as_long_as(void* graph) {
  constexpr unsigned kOnItsOwnThread = 1, kHandOver = 1;
  void* object = nullptr;
  if (driver().create_object(&object, &graphs_, graph_is_gone, 1, kOnItsOwnThread) != 0) return false;
  graphs_.fetch_add(1, std::memory_order_relaxed);
  if (driver().retain_object(graph, object, 1, kHandOver) == 0) return true;
  (void)driver().release_object(object, 1);
  return false;
}

bool Captures::begin(const Place& place, void* event) {
  constexpr unsigned kAtEveryLaunch = 1;
  constexpr std::size_t kMostAtATime = 16;
  if (Capture* const known = find(place.capture); known != nullptr) return let_follow(place.stream, known->last);
  if (!live_as_long_as(place.graph) || driver().wait(place.stream, event, kAtEveryLaunch) != 0) return false;
  if (captures_.size() == kMostAtATime) captures_.erase(captures_.begin());
  captures_.push_back({place.capture, {}, nullptr});
  return true;
}

// There is one node that records the event in a graph: each would take time at every launch. It moves on with the calls, because no node may be removed
// while the graph is being captured. Nothing comes after it, so nothing waits for it. An edge that is left does no harm.
bool Captures::record_after(const Place& place, Capture& capture, const Nodes& now, void* event) {
  if (capture.record == nullptr) return driver().add_record_node(&capture.record, place.graph, now.data(), now.size(), event) == 0;
  const Nodes fresh = without(now, capture.last), old = without(capture.last, now);
  const Nodes record(std::max(fresh.size(), old.size()), capture.record);
  if (!fresh.empty() && driver().add_edges(place.graph, fresh.data(), record.data(), fresh.size()) != 0) return false;
  if (!old.empty()) (void)driver().remove_edges(place.graph, old.data(), record.data(), old.size());
  return true;
}

bool Captures::end(const Place& place, void* event) {
  Capture* const capture = find(place.capture);
  Nodes now;
  if (capture == nullptr || !read_last(place.stream, now) || !record_after(place, *capture, now, event)) return false;
  capture->last = std::move(now);
  return true;
}

}  // namespace crossrail::nccl
