// UnmappedAllocations remembers a rank's allocations that peers have not mapped. Mapping memory, and letting go of it again, costs much
// more than staging it. So memory is staged until it has been used some times, and what a program allocates for one call is never mapped.
// Memory is also staged for a while after peers have refused it.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>

#include "device/device.h"

namespace crossrail {

// This names an allocation. Memory that was freed and allocated again has another one.
struct AllocationKey {
  std::uint64_t allocation;
  const void* base;
  bool operator==(const AllocationKey&) const = default;
};
struct AllocationHash {
  std::size_t operator()(const AllocationKey& key) const { return std::hash<const void*>()(key.base) ^ (std::hash<std::uint64_t>()(key.allocation) << 1); }
};

class UnmappedAllocations {
 public:
  explicit UnmappedAllocations(std::uint64_t staged_uses) : staged_uses_(staged_uses) {}
  // Counts one more use of the memory and returns whether it is to be mapped by now.
  bool worth_mapping(const crossrail_memory& memory);
  // Does the same for what cannot be staged. It is false only after peers have refused it.
  bool may_be_mapped(const crossrail_memory& memory);
  void refused(const crossrail_memory& memory);

 private:
  struct One {
    std::uint64_t uses = 0;
    std::uint64_t not_before = 0;  // It is not tried before this many uses.
    std::uint64_t last = 0;        // It was last looked for at this time.
  };
  One& find(const crossrail_memory& memory);

  std::uint64_t staged_uses_;
  std::uint64_t clock_ = 0;
  std::unordered_map<AllocationKey, One, AllocationHash> all_;  // What was not used for longest makes room.
};

}  // namespace crossrail
