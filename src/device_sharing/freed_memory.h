// FreedMemory lets peers' large allocations go as soon as their owners have freed them, without a call.
//
// Memory is not free before all who have mapped it have unmapped it. PeerMappings finds out in calls what has been freed, and a setting limits
// how much that may be. Arenas are larger than any such limit, and mapping one anew in every call takes many milliseconds. So they stay mapped, and
// a thread of every process looks every 10 ms whether its own large allocations are still there, tells the peers in shared memory if one is
// not, and unmaps what peers have told.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "device_sharing/process_mappings.h"

namespace crossrail::freed_memory {

// Allocations of so many bytes and more are watched.
constexpr std::uint64_t kLargeBytes = std::uint64_t{256} << 20;

// Returns whether the program has freed memory that was described like this. It asks about all of the memory, because a part of several chunks is
// described as other memory.
bool is_freed(const crossrail_memory& memory);

// This is where an owner tells that it has freed the allocation with this version, and where peers count who still has it mapped. It lies in memory
// that all ranks of the node share.
struct Notice {
  std::atomic<std::uint64_t>* freed;
  std::atomic<std::uint64_t>* holders;  // It is the version << 16 | the number of those who have it mapped.
  std::uint64_t version;
};

// These return at once. `group` is the object that owns the notices, and `who` names the allocation or the mapping in it. If the system gives no
// thread, nothing is watched, and the memory is let go of in calls.
void watch_own(const void* group, const void* who, const crossrail_memory& memory, const Notice& notice);
void watch_mapping(const void* group, const void* who, std::shared_ptr<Mapping> mapping, const Notice& notice);
// The first call forgets an allocation or a mapping. A mapping that nobody else has is unmapped, as far as it has not been. The second one forgets
// all of a group, whose notices are not touched afterwards.
void forget(const void* group, const void* who);
void forget_all(const void* group);

// Waits a moment until peers have unmapped what the program has freed of the memory that is watched. A program that frees an arena, meets the other
// ranks and allocates the next one finds room.
void await_unmapped();

}  // namespace crossrail::freed_memory
