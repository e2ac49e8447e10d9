#include "sharing.h"

#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "later.h"
#include "memory.h"
#include "queue.h"

namespace gpu {
namespace {

struct Content {
  uint64_t identity;  // It is the identity of the owner's device.
  IpcHandle ipc;
};
static_assert(sizeof(Content) <= sizeof(crossrail_handle::content));

// This is memory opened here.
struct Opened {
  Sharing sharing = Sharing::none;
  Place* place = nullptr;
  Address base = 0;
  size_t bytes = 0;
  uint64_t identity = 0;
  std::vector<size_t> chunks;  // They are the bytes of those mapped.
  int openings = 1;  // Allocations of one block are mapped at the same place one after the other.
};

struct Openings {
  std::mutex mutex;
  std::map<Address, Opened> all;
};
Openings& openings() {
  static Openings& one = *new Openings;
  return one;
}

const char* export_chunks(const crossrail_memory& memory, crossrail_handle& handle, crossrail_chunk* chunks) {
  const Address end = address(memory.base) + memory.bytes;
  for (Address at = address(memory.base); at < end;) {
    const Extent extent = extent_at(at);
    if (extent.bytes == 0) return "memory that is not mapped any more";
    if (handle.chunk_count == CROSSRAIL_MOST_CHUNKS) return "memory in too many chunks";
    Chunk chunk{};
    GPU_TRY(driver().retain_chunk(&chunk, pointer(at)));
    int descriptor = -1;
    const Result exported = export_chunk(chunk, &descriptor);
    (void)driver().release_chunk(chunk);
    GPU_TRY(exported);
    chunks[handle.chunk_count++] = {extent.bytes, descriptor, 0};
    at = extent.base + extent.bytes;
  }
  return nullptr;
}

const char* export_whole(const crossrail_memory& memory, crossrail_handle& handle) {
  Content content{};
  content.identity = identity_of(memory.device);
  GPU_TRY(driver().ipc_export(&content.ipc, address(memory.base)));
  std::memcpy(handle.content, &content, sizeof content);
  return nullptr;
}

const char* export_as(Sharing sharing, const crossrail_memory& memory, crossrail_handle& handle, crossrail_chunk* chunks) {
  switch (sharing) {
    case Sharing::ipc: return export_whole(memory, handle);
    case Sharing::chunks: {
      const Content content{identity_of(memory.device), {}};
      std::memcpy(handle.content, &content, sizeof content);
      return export_chunks(memory, handle, chunks);
    }
    case Sharing::none: break;
  }
  return "memory that cannot be shared";
}

const char* map_chunk(Opened& opened, const crossrail_chunk& from) {
  Chunk chunk{};
  GPU_TRY(import_chunk(from.descriptor, &chunk));
  const Result mapped = driver().map(opened.base + opened.bytes, from.bytes, 0, chunk, 0);
  (void)driver().release_chunk(chunk);  // The mapping keeps it.
  GPU_TRY(mapped);
  opened.chunks.push_back(from.bytes);
  opened.bytes += from.bytes;
  return nullptr;
}

void unmap_chunks(Opened& opened, size_t reserved) {
  Address at = opened.base;
  for (const size_t bytes : opened.chunks) {
    (void)driver().unmap(at, bytes);
    at += bytes;
  }
  (void)driver().unreserve(opened.base, reserved);
}

const char* open_chunks(Opened& opened, const crossrail_handle& handle, const crossrail_chunk* chunks) {
  size_t total = 0;
  for (uint32_t i = 0; i < handle.chunk_count; ++i) total += chunks[i].bytes;
  GPU_TRY(driver().reserve(&opened.base, total, 0, 0, 0));
  const char* wrong = nullptr;
  for (uint32_t i = 0; wrong == nullptr && i < handle.chunk_count; ++i) wrong = map_chunk(opened, chunks[i]);
  if (wrong == nullptr) wrong = text(allow_access(opened.base, total, opened.place->device));
  if (wrong != nullptr) unmap_chunks(opened, total);
  return wrong;
}

// Drivers may refuse memory in whose place other memory is still mapped. That is gone soon if the device is idle. Nobody waits for a busy
// one.
Result open_cleared(Opened& opened, const IpcHandle& handle) {
  const Result first = open_ipc(handle, &opened.base);
  return first == kSuccess || !cleared_soon(*opened.place) ? first : open_ipc(handle, &opened.base);
}

const char* open_as(Opened& opened, const crossrail_handle& handle, const crossrail_chunk* chunks) {
  Content content{};
  std::memcpy(&content, handle.content, sizeof content);
  opened.identity = content.identity;
  switch (opened.sharing) {
    case Sharing::ipc: return text(open_cleared(opened, content.ipc));
    case Sharing::chunks: return open_chunks(opened, handle, chunks);
    case Sharing::none: break;
  }
  return "a handle of unknown kind";
}

}  // namespace

const char* export_memory(const crossrail_memory* memory, crossrail_handle* handle, crossrail_chunk* chunks) {
  const char* unplaced = nullptr;
  const Place* place = place_of(*memory, &unplaced);
  if (place == nullptr) return unplaced;
  const Uncaptured uncaptured;
  const At at(*place);
  GPU_TRY(at.result());
  const Sharing sharing = sharing_of(*memory);
  *handle = {};
  handle->kind = static_cast<uint32_t>(sharing);
  handle->bytes = memory->bytes;
  const char* wrong = export_as(sharing, *memory, *handle, chunks);
  if (wrong == nullptr) return nullptr;
  for (uint32_t i = 0; i < handle->chunk_count; ++i) close(chunks[i].descriptor);
  handle->chunk_count = 0;
  return wrong;
}

const char* open_memory(crossrail_queue* queue, const crossrail_handle* handle, const crossrail_chunk* chunks,
                        void** mapped) {
  const Uncaptured uncaptured;
  const At at(*queue->place);
  GPU_TRY(at.result());
  Opened opened;
  opened.sharing = static_cast<Sharing>(handle->kind);
  opened.place = queue->place;
  if (const char* wrong = open_as(opened, *handle, chunks); wrong != nullptr) return wrong;
  opened.bytes = handle->bytes;
  *mapped = pointer(opened.base);
  const std::lock_guard lock(openings().mutex);
  const auto [known, fresh] = openings().all.try_emplace(opened.base, std::move(opened));
  if (!fresh) ++known->second.openings;
  return nullptr;
}

const char* close_memory(void* mapped, bool* is_mapped) {
  Opened opened;
  {
    const std::lock_guard lock(openings().mutex);
    const auto found = openings().all.find(address(mapped));
    *is_mapped = found != openings().all.end();
    if (!*is_mapped) return nullptr;
    opened = found->second;
    if (--found->second.openings == 0) openings().all.erase(found);
  }
  if (opened.sharing == Sharing::ipc) {
    do_later(*opened.place, {Chore::close_mapping, opened.base, opened.bytes});
    return nullptr;
  }
  const Uncaptured uncaptured;
  const At at(*opened.place);
  GPU_TRY(at.result());
  unmap_chunks(opened, opened.bytes);
  return nullptr;
}

bool lies_on(const void* at, uint64_t identity, int device) {
  {
    const std::lock_guard lock(openings().mutex);
    auto after = openings().all.upper_bound(address(at));
    if (after != openings().all.begin()) {
      const Opened& opened = (--after)->second;
      if (address(at) - opened.base < opened.bytes) return opened.identity == identity;
    }
  }
  const Facts facts = facts_of(at);
  return facts.device && !facts.managed && facts.ordinal == device;
}

}  // namespace gpu
