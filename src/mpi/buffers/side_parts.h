// What a side touches in its memory, without the gaps of its datatype: the program may write these while a call is under way, and they may
// be no memory at all. So device memory is copied part by part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mpi/buffers/packed_vectors.h"

namespace crossrail::mpi {

struct SidePart {
  std::ptrdiff_t offset = 0;  // from the side's address
  std::uint64_t bytes = 0;    // in a row, where there is no layout
  std::uint64_t elements = 0;
  const Layout* layout = nullptr;         // as long as the type lives, or `kept`
  std::shared_ptr<const Layout> kept;
};
using SideParts = std::vector<SidePart>;

// The gaps of a type that cannot be taken apart are in them.
SideParts parts_of(const Side& side);
SideParts parts_of(const VectorSide& side, const SideFacts& facts);
// For a call that ends when the types may have gone.
void keep_layouts(SideParts& parts);

// Whether some part begins in a device's memory; where the address is null (MPI_BOTTOM), some piece of one.
bool in_device_memory(const void* address, const SideParts& parts);

// From one address that a side may have to another. Errors: system.
Status copy_part(std::byte* to, std::byte* from, const SidePart& part);

// Whether all pieces of a side, which may be anywhere where addresses are absolute, are in the memory of one context of one device.
bool on_one_device(const Side& side);
// All elements to a row of host memory and back, each piece for itself. Errors: system.
Status gather_pieces(std::byte* row, const Side& from);
Status scatter_pieces(const std::byte* row, const Side& to);

}  // namespace crossrail::mpi
