// Calls on one communicator that are being captured in graphs. When a graph is launched, its calls come after what the communicator has been asked
// before, and what it is asked later comes after them: the graph waits for the communicator's event before its first call, and records the event after
// its last one. Within a graph, calls come one after the other, whatever branches they are in.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "nccl/api.h"

namespace crossrail::nccl {

// What a call's stream is at present.
struct Place {
  enum class Kind { unknown, eager, captured };
  Stream stream = nullptr;
  Kind kind = Kind::unknown;
  std::uint64_t capture = 0;  // No other capture of this process has the same number.
  void* graph = nullptr;
};
// It does no harm to a capture.
Place place_of(Stream stream);

class Captures {
 public:
  Captures() = default;
  Captures(const Captures&) = delete;
  Captures& operator=(const Captures&) = delete;

  // Comes before a captured call's work, and returns false if the driver has refused something.
  bool begin(const Place& place, void* event);
  // Comes after it.
  bool end(const Place& place, void* event);
  // Returns whether some graph that has calls of the communicator may still be launched.
  bool some_live() const { return graphs_.load(std::memory_order_acquire) != 0; }

 private:
  using Nodes = std::vector<void*>;
  struct Capture {
    std::uint64_t number;
    Nodes last;              // What follows the last call comes after these nodes.
    void* record = nullptr;  // It is the node that records the event.
  };
  Capture* find(std::uint64_t number);
  bool live_as_long_as(void* graph);
  static bool record_after(const Place& place, Capture& capture, const Nodes& now, void* event);

  std::vector<Capture> captures_;  // They are the latest ones. Nobody tells when one ends.
  std::atomic<std::uint64_t> graphs_{0};
};

}  // namespace crossrail::nccl
