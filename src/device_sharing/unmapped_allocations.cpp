#include "device_sharing/unmapped_allocations.h"

namespace crossrail {

UnmappedAllocations::One& UnmappedAllocations::find(const crossrail_memory& memory) {
  constexpr std::size_t kMost = 16384;
  ++clock_;
  if (all_.size() >= kMost) std::erase_if(all_, [&](const auto& one) { return one.second.last + kMost / 2 < clock_; });
  One& one = all_[{memory.allocation, memory.base}];
  one.last = clock_;
  return one;
}

bool UnmappedAllocations::worth_mapping(const crossrail_memory& memory) {
  if (memory.shareable == 0) return false;
  One& one = find(memory);
  return ++one.uses >= one.not_before && one.uses > staged_uses_;
}

bool UnmappedAllocations::may_be_mapped(const crossrail_memory& memory) {
  One& one = find(memory);
  return ++one.uses >= one.not_before;
}

// What has failed may have been for want of memory, so it is tried again at ever longer intervals.
void UnmappedAllocations::refused(const crossrail_memory& memory) {
  constexpr std::uint64_t kSoonest = 8;
  One& one = find(memory);
  one.not_before = 2 * one.uses + kSoonest;
}

}  // namespace crossrail
