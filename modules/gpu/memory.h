// What memory is: of the host, of a device, shareable in which way.
#pragma once

#include <vector>

#include "crossrail/device_module.h"
#include "gpu.h"

namespace gpu {

// How memory can be given to another process.
enum class Sharing : uint32_t {
  none = 0,
  ipc = 1,     // one handle for a whole allocation
  chunks = 2   // mapped by the program itself: a descriptor for every chunk
};

// Physically contiguous, mapped as a whole.
struct Extent {
  Address base;
  size_t bytes;
};

// The chunk that `address` lies in; nothing (0 bytes) where nothing is mapped.
Extent extent_at(Address address);
Sharing sharing_of(const crossrail_memory& memory);

crossrail_memory_kind classify(const void* pointer);
void describe(const void* pointer, size_t bytes, crossrail_memory* memory);

}  // namespace gpu
