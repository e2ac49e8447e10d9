// Buffers: the user's memory of one call, as contiguous blocks. Never stored.
#pragma once

#include <cstddef>

namespace crossrail {

// A block of a v-collective: where it lies from the start of its side, and how long it is.
struct Block {
  std::ptrdiff_t offset = 0;
  std::size_t bytes = 0;
};

struct Buffers {
  const std::byte* send = nullptr;  // with Shape::in_place the same memory as recv
  std::byte* recv = nullptr;
  // Of v-collectives, one for every rank of the communicator; elsewhere null: equal blocks in rank
  // order. The engine never sees a v-collective in place: who calls it sends from a copy.
  const Block* out = nullptr;
  const Block* in = nullptr;
};

}  // namespace crossrail
