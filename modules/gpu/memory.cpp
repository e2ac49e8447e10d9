#include "memory.h"

#include <unistd.h>

#include "base/of_thread.h"
#include "closing.h"
#include "own_memory.h"
#include "place.h"

namespace gpu {
namespace {

// This is memory asked about before. Its ids tell whether it is still the same.
struct Known {
  crossrail_memory memory{};
  Sharing sharing = Sharing::none;
  std::vector<Extent> extents;  // They are those of chunks. Otherwise there is one, of the whole.
  bool told = true;             // finish_copies explains it.
};

constexpr size_t kKnown = 128;  // Each thread has this many.
struct Cache {
  struct Range {
    Address begin, end;
  };
  Range ranges[kKnown] = {};  // They lie apart, to be looked through quickly.
  Known known[kKnown];
  size_t oldest = 0;
};

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

uint64_t chunks_id(const std::vector<Extent>& extents) {
  uint64_t hash = extents.size();
  for (const Extent& extent : extents) {
    hash = mix(hash, extent.base);
    hash = mix(hash, buffer_id(pointer(extent.base)));
    hash = mix(hash, block_id(pointer(extent.base)));
  }
  return hash;
}

// Returns whether `known` tells of exactly the memory that the range touches.
bool tells_of(const Known& known, Address begin, Address end) {
  if (known.extents.empty()) return false;
  const Extent& first = known.extents.front();
  const Extent& last = known.extents.back();
  if (begin < first.base || end > last.base + last.bytes) return false;
  if (known.sharing != Sharing::chunks) return buffer_id(pointer(begin)) == known.memory.allocation;
  return begin < first.base + first.bytes && end > last.base && chunks_id(known.extents) == known.memory.allocation;
}

// Returns the chunks from the one of `begin` to that of the last byte. There are none if something is missing between.
std::vector<Extent> extents_of(Address begin, Address end) {
  std::vector<Extent> extents;
  for (Address at = begin; at < end;) {
    const Extent extent = extent_at(at);
    if (extent.bytes == 0) return {};
    extents.push_back(extent);
    at = extent.base + extent.bytes;
  }
  return extents;
}

// Returns whether `address` is in memory that the program has mapped itself. If so, it also tells whether it can be shared.
bool in_chunk(Address address, int device, bool* shareable) {
  Chunk chunk{};
  if (driver().retain_chunk(&chunk, pointer(address)) != kSuccess) return false;
  *shareable = chunk_is_shareable(chunk, device);
  (void)driver().release_chunk(chunk);
  return true;
}

void learn_chunks(Known& known, Address begin, Address end) {
  crossrail_memory& memory = known.memory;
  known.sharing = Sharing::chunks;
  known.extents = extents_of(begin, end);
  memory.shareable = !known.extents.empty() && known.extents.size() <= CROSSRAIL_MOST_CHUNKS ? 1 : 0;
  for (const Extent& extent : known.extents) {
    bool shareable = false;
    if (!in_chunk(extent.base, memory.device, &shareable) || !shareable) memory.shareable = 0;
    if (block_id(pointer(extent.base)) == 0) memory.shareable = 0;  // Nothing would tell peers that other memory has been mapped there.
  }
  if (known.extents.empty()) {  // Something is missing between.
    memory.bytes = 0;
    return;
  }
  memory.base = pointer(known.extents.front().base);
  memory.bytes = known.extents.back().base + known.extents.back().bytes - known.extents.front().base;
  memory.allocation = chunks_id(known.extents);
}

void learn_device(Known& known, Address begin, Address end) {
  crossrail_memory& memory = known.memory;
  const Context context = memory.context != nullptr ? static_cast<Context>(memory.context) : context_on(memory.device);
  if (context == nullptr) {  // It is a peer's memory that this process has mapped.
    memory.allocation = buffer_id(pointer(begin));
    memory.bytes = 0;
    return;
  }
  const Uncaptured uncaptured;
  const Current current(context);
  known.told = is_own(begin) || finish_copies(pointer(begin));
  // For memory of a pool, the driver wants all who have imported it to free it before its owner does, which nobody can promise.
  if (pool_of(pointer(begin)) != Pool{}) {
    memory.shareable = 0;
  } else if (ipc_capable(pointer(begin))) {
    known.sharing = Sharing::ipc;
    memory.shareable = 1;
  } else if (bool shareable = false; in_chunk(begin, memory.device, &shareable)) {
    return learn_chunks(known, begin, end);
  }
  const Extent whole = extent_at(begin);
  memory.allocation = buffer_id(pointer(begin));
  memory.base = pointer(whole.base);
  memory.bytes = whole.bytes;
  if (whole.bytes == 0 || end > whole.base + whole.bytes) {
    memory.shareable = 0;
    return;
  }
  known.extents = {whole};
}

// Returns what the driver says. `extents` stays empty for memory that shall not be remembered.
Known learn(const void* at, size_t bytes) {
  Known known;
  crossrail_memory& memory = known.memory;
  memory = {CROSSRAIL_MEMORY_HOST, 0, -1, nullptr, 0, const_cast<void*>(at), bytes, 0};
  const Facts facts = facts_of(at);
  if (!facts.known || (!facts.device && !facts.managed)) return known;
  memory.kind = facts.managed ? CROSSRAIL_MEMORY_MANAGED : CROSSRAIL_MEMORY_DEVICE;
  memory.device = facts.ordinal;
  memory.context = facts.context;
  memory.generation = generation_of(facts.context != nullptr ? facts.context : context_on(facts.ordinal));
  if (facts.managed) {
    memory.allocation = buffer_id(at);
  } else {
    learn_device(known, address(at), address(at) + bytes);
  }
  return known;
}

}  // namespace

Extent extent_at(Address at) {
  Address base{};
  size_t bytes = 0;
  if (driver().address_range(&base, &bytes, at) != kSuccess) return {at, 0};
  return at >= base && at - base < bytes ? Extent{base, bytes} : Extent{at, 0};
}

Sharing sharing_of(const crossrail_memory& memory) {
  if (pool_of(memory.base) != Pool{}) return Sharing::none;
  if (ipc_capable(memory.base)) return Sharing::ipc;
  bool shareable = false;
  return in_chunk(address(memory.base), memory.device, &shareable) ? Sharing::chunks : Sharing::none;
}

crossrail_memory_kind classify(const void* pointer) {
  const Facts facts = facts_of(pointer);
  if (facts.managed) return CROSSRAIL_MEMORY_MANAGED;
  return facts.device ? CROSSRAIL_MEMORY_DEVICE : CROSSRAIL_MEMORY_HOST;
}

void describe(const void* pointer, size_t bytes, crossrail_memory* memory) {
  if (bytes == 0) {
    memory->kind = classify(pointer);
    if (memory->kind == CROSSRAIL_MEMORY_HOST && is_closing(address(pointer))) memory->kind = CROSSRAIL_MEMORY_DEVICE;
    return;
  }
  Cache& cache = crossrail::of_thread<Cache, Cache>();
  const Address begin = address(pointer);
  const Address end = begin + bytes;
  for (size_t i = 0; i < kKnown; ++i) {
    if (begin < cache.ranges[i].begin || end > cache.ranges[i].end) continue;
    if (!tells_of(cache.known[i], begin, end)) {
      // This memory has gone and is not to be asked about again.
      if (cache.known[i].sharing != Sharing::chunks) cache.ranges[i] = {};
      continue;
    }
    *memory = cache.known[i].memory;
    if (!cache.known[i].told) look_at_copies(memory->context != nullptr ? static_cast<Context>(memory->context) : context_on(memory->device));
    return;
  }
  Known learned = learn(pointer, bytes);
  *memory = learned.memory;
  if (learned.extents.empty() || learned.memory.allocation == 0) return;  // There is nothing to know it again by.
  const Extent& last = learned.extents.back();
  cache.ranges[cache.oldest] = {learned.extents.front().base, last.base + last.bytes};
  cache.known[cache.oldest] = std::move(learned);
  cache.oldest = (cache.oldest + 1) % kKnown;
}

}  // namespace gpu
