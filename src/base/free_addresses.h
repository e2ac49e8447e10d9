// Where this process has no mapping, and where ranges of addresses that keep their distances have room there.
#pragma once

#include <cstdint>
#include <vector>

namespace crossrail {

struct AddressRange {
  std::uintptr_t begin, end;
};

// What lies between the mappings of this process just now, ascending. Empty where that cannot be read.
std::vector<AddressRange> free_addresses();

// From the least to the most, both included.
struct Distances {
  std::intptr_t least, most;
};
// By how much all of `ranges` may be moved at once so that each of them lies in one of `room`, which ascend; the widest choice first.
std::vector<Distances> distances_into(const std::vector<AddressRange>& room, const std::vector<AddressRange>& ranges);

}  // namespace crossrail
