// This has the module's table, and copies and memory that need no queue.

#include <cstring>

#include "later.h"
#include "memory.h"
#include "own_memory.h"
#include "queue.h"
#include "sharing.h"

namespace gpu {
namespace {

const char* begin_copy(const crossrail_rows& rows, Stream stream) {
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
  for (size_t i = 0; i < count && wrong == nullptr; ++i) wrong = begin_copy(rows[i], place->stream);
  const char* const waited = text(driver().await_stream(place->stream));
  return wrong != nullptr ? wrong : waited;
}

const char* copy_rows(const crossrail_rows* rows, size_t count) {
  if (count == 0) return nullptr;
  // This is looked at first of all. The program's own copies to either may still be under way, and what it has written must not come after.
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

const char* give_back(void* memory) {
  bool is_mapped = false;
  if (const char* wrong = close_memory(memory, &is_mapped); is_mapped) return wrong;
  if (free_own(address(memory))) return nullptr;
  const Facts facts = facts_of(memory);
  if (!facts.device) return "memory that neither alloc nor open_memory has made";
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

crossrail_device_module table() {
  crossrail_device_module module{};
  module.size = sizeof module;
  module.name = kName;
  module.describe = describe;
  module.copy = copy_rows;
  module.alloc = alloc;
  module.free = give_back;
  module.export_memory = export_memory;
  module.open_memory = open_memory;
  module.open_queue = open_queue;
  module.close_queue = close_queue;
  module.open_pages = open_pages;
  module.close_pages = close_pages;
  module.supports = supports;
  module.enqueue = enqueue;
  module.sync = sync;
  module.times = times;
  return module;
}

}  // namespace
}  // namespace gpu

extern "C" __attribute__((visibility("default"))) const crossrail_device_module* crossrail_device_module_table(void) {
  static const crossrail_device_module module = gpu::table();
  return gpu::driver().complete ? &module : nullptr;
}
