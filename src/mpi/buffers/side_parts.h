// Side parts are what a side touches in its memory without the gaps of its datatype. The program may write to the gaps while a call is under way, and
// they need not even be mapped. Therefore device memory is copied part by part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mpi/buffers/side.h"

namespace crossrail::mpi {

struct SidePart {
  std::ptrdiff_t offset = 0;  // It counts from the side's address.
  std::uint64_t bytes = 0;    // Without a layout, so many bytes lie in a row.
  std::uint64_t elements = 0;
  const Layout* layout = nullptr;         // It is valid as long as the type lives, or as `kept`.
  std::shared_ptr<const Layout> kept;
};
using SideParts = std::vector<SidePart>;

// If a type cannot be taken apart, its parts include the gaps.
SideParts parts_of(const Side& side);
// It serves calls that may end after the types have been freed.
void keep_layouts(SideParts& parts);

// Returns whether some part begins in a device's memory. With the address null (MPI_BOTTOM), it looks at every piece.
bool in_device_memory(const void* address, const SideParts& parts);

// Copies from one possible address of a side to another. Errors: system.
Status copy_part(std::byte* to, std::byte* from, const SidePart& part);

// Returns whether some part of the side's data begins in a device's memory.
inline bool touches_devices(const Side& side) { return in_device_memory(side.address, parts_of(side)); }
// Returns whether the bytes of a block with a layout are at absolute addresses (MPI_BOTTOM, which is null) and some of them in a device's memory. The
// others may be elsewhere, and there may be no memory between them.
inline bool lies_apart(const Side& block) { return block.address == nullptr && block.facts.layout != nullptr && !block.in_a_row() && touches_devices(block); }

// The functions below are for a side without a table.
//
// Returns whether all pieces of a side are in the memory of one context of one device. With absolute addresses they may be anywhere.
bool on_one_device(const Side& side);
// Copies all elements to a row of host memory or back, each piece by itself. Errors: system.
enum class RowIs : char { filled, read };
Status copy_pieces(const Side& side, std::byte* row, RowIs row_is);

}  // namespace crossrail::mpi
