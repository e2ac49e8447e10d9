// This says what memory is: memory of the host or of a device, and in which way it is shareable.
#pragma once

#include <vector>

#include "crossrail/device_module.h"
#include "gpu.h"

namespace gpu {

// This says how memory can be given to another process.
enum class Sharing : uint32_t {
  none = 0,
  ipc = 1,     // There is one handle for a whole allocation.
  chunks = 2   // The program itself has mapped it. There is a descriptor for every chunk.
};

// This is physically contiguous and mapped as a whole.
struct Extent {
  Address base;
  size_t bytes;
};

// Returns the chunk that `address` lies in. It is empty (0 bytes) if nothing is mapped.
Extent extent_at(Address address);
Sharing sharing_of(const crossrail_memory& memory);

crossrail_memory_kind classify(const void* pointer);
void describe(const void* pointer, size_t bytes, crossrail_memory* memory);

}  // namespace gpu
