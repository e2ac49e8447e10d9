// Memory for copies of what a side of a call touches, at the distances that its parts have from each other.
#pragma once

#include <cstddef>
#include <vector>

#include "base/free_addresses.h"
#include "base/growable_buffer.h"
#include "mpi/buffers/packed_buffers.h"
#include "mpi/buffers/side_parts.h"

namespace crossrail::mpi {

struct CopiedSide {
  Span span;
  SideParts parts;
};

// Its pages come into being where they are touched: between parts of a side may lie gigabytes. Where these are terabytes, as between
// memory of the host and of a device, there may be no addresses for all of them: then there is memory for the parts only.
class SpannedMemory {
 public:
  SpannedMemory() = default;
  SpannedMemory(const SpannedMemory&) = delete;
  SpannedMemory& operator=(const SpannedMemory&) = delete;
  ~SpannedMemory();
  // Once. The side is at `program`. Errors: no_memory.
  Status reserve(std::byte* program, const CopiedSide& side, const std::byte* other);
  // What stands for the side's address. It is not `other`.
  std::byte* address() const { return address_; }

 private:
  Status reserve_whole(const Span& span, const std::byte* other);
  Status reserve_parts(std::byte* program, const SideParts& parts, const std::byte* other);
  Status map(const std::vector<AddressRange>& ranges, std::intptr_t distance, bool& taken);
  void unmap();

  std::byte* address_ = nullptr;
  std::vector<AddressRange> mapped_;
  GrowableBuffer short_;  // the program's allocator is quicker with little memory
};

}  // namespace crossrail::mpi
