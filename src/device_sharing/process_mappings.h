// This is what this process has mapped of other processes' device memory. It maps an allocation once, however many of its communicators use
// it.
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"
#include "device/device.h"

namespace crossrail {

// This is memory of a peer, mapped into this process.
struct Mapping {
  Mapping(std::byte* at, std::size_t length, bool is_whole) : mapped(at), bytes(length), whole(is_whole) {}
  ~Mapping() { close(); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  void close();
  std::atomic<std::byte*> mapped;  // It is null once it is closed.
  std::size_t bytes;
  bool whole;                      // It is an allocation, not some chunks of one.
};

// Device memory is mapped for this queue. If the handle is null, it is mapped for none.
struct OpenQueue {
  crossrail_queue* handle;
  std::uint64_t place;  // It comes from crossrail_queue_facts.
};

struct ForeignAllocation {
  std::uint64_t process, id, base;
  std::uint64_t place;  // This process maps it there.
  auto operator<=>(const ForeignAllocation&) const = default;
};

// This says how it is mapped where it has not been.
struct ForeignHandle {
  crossrail_queue* queue;  // It is mapped for the device of this queue.
  const crossrail_handle& handle;
  const crossrail_chunk* chunks;
};
Status map_once(const ForeignAllocation& allocation, const ForeignHandle& how, std::shared_ptr<Mapping>& mapping);

}  // namespace crossrail
