// UnmappedAllocations: what a rank remembers of its allocations that peers have not mapped. To map memory, and to let
// go of it again, costs much more than to stage it: memory is staged until it has been used some times, so that
// what a program allocates for one call is never mapped; and for a while after peers have refused it.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>

#include "device/device.h"

namespace crossrail {

class UnmappedAllocations {
 public:
  explicit UnmappedAllocations(std::uint64_t staged_uses) : staged_uses_(staged_uses) {}
  // One more use of the memory; whether it is to be mapped by now.
  bool worth_mapping(const crossrail_memory& memory);
  // The same for what cannot be staged: false only after peers have refused it.
  bool may_be_mapped(const crossrail_memory& memory);
  void refused(const crossrail_memory& memory);

 private:
  struct Key {
    std::uint64_t allocation;
    const void* base;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const { return std::hash<const void*>()(key.base) ^ (std::hash<std::uint64_t>()(key.allocation) << 1); }
  };
  struct One {
    std::uint64_t uses = 0;
    std::uint64_t not_before = 0;  // so many uses
    std::uint64_t last = 0;        // when it was looked for
  };
  One& find(const crossrail_memory& memory);

  std::uint64_t staged_uses_;
  std::uint64_t clock_ = 0;
  std::unordered_map<Key, One, Hash> all_;  // what was not used for longest makes room
};

}  // namespace crossrail
