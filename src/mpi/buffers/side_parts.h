// Side parts are what a side touches in its memory without the gaps of its datatype. The program may write to the gaps while a call is under way, and
// they need not even be mapped. Therefore device memory is copied part by part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mpi/buffers/packed_vectors.h"

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
SideParts parts_of(const VectorSide& side, const SideFacts& facts);
// It serves calls that may end after the types have been freed.
void keep_layouts(SideParts& parts);

// Returns whether some part begins in a device's memory. With the address null (MPI_BOTTOM), it looks at every piece.
bool in_device_memory(const void* address, const SideParts& parts);

// Copies from one possible address of a side to another. Errors: system.
Status copy_part(std::byte* to, std::byte* from, const SidePart& part);

// Returns whether all pieces of a side are in the memory of one context of one device. With absolute addresses they may be anywhere.
bool on_one_device(const Side& side);
// Copy all elements to a row of host memory and back, each piece by itself. Errors: system.
Status gather_pieces(std::byte* row, const Side& from);
Status scatter_pieces(const std::byte* row, const Side& to);

}  // namespace crossrail::mpi
