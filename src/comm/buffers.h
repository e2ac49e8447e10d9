// Buffers: the user's memory of one call, as contiguous blocks in rank order. Never stored.
#pragma once

#include <cstddef>

namespace crossrail {

struct Buffers {
  const std::byte* send = nullptr;  // with Shape::in_place the same memory as recv
  std::byte* recv = nullptr;
};

}  // namespace crossrail
