// GrowableBuffer is memory that grows and never shrinks.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "base/status.h"

namespace crossrail {

struct GrowableBuffer {
  std::unique_ptr<std::byte[]> memory;
  std::size_t bytes = 0;
  // What the buffer held is lost when it grows. It may fail with no_memory.
  Status reserve(std::size_t wanted) {
    if (bytes >= wanted) return {};
    memory.reset();
    bytes = 0;
    memory.reset(new (std::nothrow) std::byte[wanted]);
    if (memory == nullptr) return failure(Code::no_memory, "no memory for %zu bytes", wanted);
    bytes = wanted;
    return {};
  }
};

}  // namespace crossrail
