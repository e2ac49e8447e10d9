// The module's table, and copies and memory that need no queue.

#include <cstring>

#include "later.h"
#include "memory.h"
#include "own_memory.h"
#include "queue.h"
#include "sharing.h"

namespace gpu {
namespace {

const char* enqueue(const crossrail_rows& rows, Stream stream) {
  const bool some = rows.bytes > 0 && rows.count > 0;
  if (some && rows.count > 1) GPU_TRY(driver().copy_rows(address(rows.to), address(rows.from), rows, stream));
  else if (some) GPU_TRY(driver().copy(address(rows.to), address(rows.from), rows.bytes, stream));
  return nullptr;
}

const char* copy_at(const Facts& facts, const crossrail_rows* rows, size_t count) {
  crossrail_memory near{};
  near.device = facts.ordinal;
  near.context = facts.context;
  const char* wrong = nullptr;
  const Place* place = place_of(near, &wrong);
  if (place == nullptr) return wrong;
  const Uncaptured uncaptured;
  const At at(*place);
  GPU_TRY(at.result());
  for (size_t i = 0; i < count && wrong == nullptr; ++i) wrong = enqueue(rows[i], place->stream);
  const char* const waited = text(driver().await_stream(place->stream));
  return wrong != nullptr ? wrong : waited;
}

const char* copy_rows(const crossrail_rows* rows, size_t count) {
  if (count == 0) return nullptr;
  // Looked at first of all: the program's own copies to either may still be under way, and what it has written must not come after.
  crossrail_memory looked_at{};
  for (size_t i = 0; i < count; ++i) {
    const size_t reach = rows[i].bytes + (rows[i].count > 1 ? rows[i].pitch * (rows[i].count - 1) : 0);
    if (i == 0) describe(rows[i].from, reach, &looked_at);
    describe(rows[i].to, reach, &looked_at);
  }
  Facts facts = facts_of(rows->to);
  if (!facts.device) facts = facts_of(rows->from);
  if (facts.device) return copy_at(facts, rows, count);
  for (size_t i = 0; i < count; ++i) {
    for (size_t row = 0; row < rows[i].count; ++row) {
      const size_t at = row * rows[i].pitch;
      std::memcpy(static_cast<char*>(rows[i].to) + at, static_cast<const char*>(rows[i].from) + at, rows[i].bytes);
    }
  }
  return nullptr;
}

const char* copy(void* to, const void* from, size_t bytes) {
  const crossrail_rows row{to, from, bytes, 1, bytes};
  return copy_rows(&row, bytes > 0 ? 1 : 0);
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

void settle_queue(crossrail_queue* queue) { settle(*queue->place); }

uint64_t identity(crossrail_queue* queue) { return queue->place->identity; }

uint64_t place_number(crossrail_queue* queue) {
  const Place* place = queue->place;
  return generation_of(place->context) == place->generation ? reinterpret_cast<uintptr_t>(place) : 0;
}

crossrail_device_module table() {
  crossrail_device_module module{};
  module.version = CROSSRAIL_DEVICE_MODULE_VERSION;
  module.name = kName;
  module.classify = classify;
  module.describe = describe;
  module.copy = copy;
  module.copy_rows = copy_rows;
  module.alloc = alloc;
  module.free = give_back;
  module.export_memory = export_memory;
  module.open_memory = open_memory;
  module.close_memory = close_memory;
  module.settle = settle_queue;
  module.identity = identity;
  module.place = place_number;
  module.open_queue = open_queue;
  module.close_queue = close_queue;
  module.open_pages = open_pages;
  module.close_pages = close_pages;
  module.exchange = exchange;
  module.look = look;
  module.drain = drain;
  module.open_times = open_times;
  module.begin_times = begin_times;
  module.end_times = end_times;
  module.times = times;
  if (kernel_image() == nullptr) return module;
  module.packets = packets;
  module.packets_bytes = packets_bytes;
  module.has_packets = has_packets;
  module.barrier = barrier;
  module.exchange_counted = exchange_counted;
  module.combines = combines;
  module.combine = combine;
  module.combine_packets = combine_packets;
  module.combine_packets_bytes = combine_packets_bytes;
  module.move = move;
  return module;
}

}  // namespace
}  // namespace gpu

extern "C" __attribute__((visibility("default"))) const crossrail_device_module* crossrail_device_module_v12(void) {
  static const crossrail_device_module module = gpu::table();
  return gpu::driver().complete ? &module : nullptr;
}
