// The module's table, and copies and memory that need no queue.

#include <cstring>

#include "later.h"
#include "memory.h"
#include "own_memory.h"
#include "queue.h"
#include "sharing.h"

namespace gpu {
namespace {

const char* copy_at(const Facts& facts, void* to, const void* from, size_t bytes) {
  crossrail_memory near{};
  near.device = facts.ordinal;
  near.context = facts.context;
  const char* wrong = nullptr;
  const Place* place = place_of(near, &wrong);
  if (place == nullptr) return wrong;
  const Uncaptured uncaptured;
  const At at(*place);
  GPU_TRY(at.result());
  GPU_TRY(driver().copy(address(to), address(from), bytes, place->stream));
  return text(driver().await_stream(place->stream));
}

const char* copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return nullptr;
  // Looked at first of all: the program's own copies to either may still be under way, and what it has written must not come after.
  crossrail_memory looked_at{};
  describe(from, bytes, &looked_at);
  describe(to, bytes, &looked_at);
  Facts facts = facts_of(to);
  if (!facts.device) facts = facts_of(from);
  if (facts.device) return copy_at(facts, to, from, bytes);
  std::memcpy(to, from, bytes);
  return nullptr;
}

const char* give_back(void* memory) {
  if (free_own(address(memory))) return nullptr;
  const Facts facts = facts_of(memory);
  if (!facts.device) return "memory that alloc has not made";
  crossrail_memory where{};
  where.device = facts.ordinal;
  where.context = facts.context;
  const char* wrong = nullptr;
  Place* place = place_of(where, &wrong);
  if (place != nullptr) do_later(*place, {Chore::free_memory, address(memory), 0});
  return wrong;
}

const char* alloc(const crossrail_memory* near, size_t bytes, void** memory) {
  const char* wrong = nullptr;
  Place* place = place_of(*near, &wrong);
  if (place == nullptr) return wrong;
  const Uncaptured uncaptured;
  const At at(*place);
  GPU_TRY(at.result());
  Address made{};
  if (make_own(*place, bytes, &made) != kSuccess) {
    GPU_TRY(with_room(*place, [&] { return driver().allocate(&made, bytes); }));
  }
  wrong = text(driver().set_bytes(made, 0, bytes, place->stream));
  if (wrong == nullptr) wrong = text(driver().await_stream(place->stream));
  if (wrong != nullptr) {
    (void)give_back(pointer(made));
    return wrong;
  }
  *memory = pointer(made);
  return nullptr;
}

uint64_t identity(crossrail_queue* queue) { return queue->place->identity; }

crossrail_device_module table() {
  crossrail_device_module module{};
  module.version = CROSSRAIL_DEVICE_MODULE_VERSION;
  module.name = kName;
  module.classify = classify;
  module.describe = describe;
  module.copy = copy;
  module.alloc = alloc;
  module.free = give_back;
  module.export_memory = export_memory;
  module.open_memory = open_memory;
  module.close_memory = close_memory;
  module.identity = identity;
  module.open_queue = open_queue;
  module.close_queue = close_queue;
  module.open_pages = open_pages;
  module.close_pages = close_pages;
  module.exchange = exchange;
  module.look = look;
  module.drain = drain;
  if (kernel_image() == nullptr) return module;
  module.packets = packets;
  module.packets_bytes = packets_bytes;
  module.barrier = barrier;
  module.exchange_counted = exchange_counted;
  module.combines = combines;
  module.combine = combine;
  module.combine_packets = combine_packets;
  module.combine_packets_bytes = combine_packets_bytes;
  module.pack = pack;
  return module;
}

}  // namespace
}  // namespace gpu

extern "C" __attribute__((visibility("default"))) const crossrail_device_module* crossrail_device_module_v6(void) {
  static const crossrail_device_module module = gpu::table();
  return gpu::driver().complete ? &module : nullptr;
}
