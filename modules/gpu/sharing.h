// Memory of one process mapped into another.
#pragma once

#include "crossrail/device_module.h"
#include "gpu.h"

namespace gpu {

const char* export_memory(const crossrail_memory* memory, crossrail_handle* handle, crossrail_chunk* chunks);
const char* open_memory(crossrail_queue* queue, const crossrail_handle* handle, const crossrail_chunk* chunks,
                        void** mapped);
// `is_mapped`: whether open_memory has mapped it; else nothing is done.
const char* close_memory(void* mapped, bool* is_mapped);

// Whether `pointer` lies in memory of the device `identity`: opened memory is of its owner's device.
bool lies_on(const void* pointer, uint64_t identity, int device);

}  // namespace gpu
