// This maps memory of one process into another.
#pragma once

#include "crossrail/device_module.h"
#include "gpu.h"

namespace gpu {

const char* export_memory(const crossrail_memory* memory, crossrail_handle* handle, crossrail_chunk* chunks);
const char* open_memory(crossrail_queue* queue, const crossrail_handle* handle, const crossrail_chunk* chunks,
                        void** mapped);
// `is_mapped` says whether open_memory has mapped it. If not, nothing is done.
const char* close_memory(void* mapped, bool* is_mapped);

// Returns whether `pointer` lies in memory of the device `identity`. Opened memory is of its owner's device.
bool lies_on(const void* pointer, uint64_t identity, int device);

}  // namespace gpu
