// Device memory, behind one door: classify a pointer, copy any kind of memory, and the module that
// speaks to the vendor's driver, loaded when that driver shows up in the process. Without one, all
// memory is host memory.
#pragma once

#include <cstddef>
#include <span>

#include "base/status.h"
#include "crossrail/device_module.h"

namespace crossrail::device {

// True if a GPU driver that has devices is loaded in this process, but no module of crossrail for it can be
// loaded: nobody here can tell its pointers from host pointers. Looks for drivers loaded meanwhile.
bool driver_without_module();

// True if a GPU driver is loaded in this process: it may have mapped memory that no other process
// can read.
bool driver_present();

// True if one is loaded, or may be: the machine has devices.
bool driver_may_come();

// Null where there is none. Where drivers of several vendors are loaded, that of the first; memory of the others is
// known as device memory and copied, no more.
const crossrail_device_module* module();
// For tests: takes this module for every process-wide question from now on.
void use_module(const crossrail_device_module* pretended);

// What memory `pointer` points to, to a module; quick.
inline crossrail_memory_kind kind_of(const crossrail_device_module& module, const void* pointer) {
  crossrail_memory memory{};
  module.describe(pointer, 0, &memory);
  return memory.kind;
}

// True if the processor must not touch what `pointer` points to.
bool is_device_memory(const void* pointer);

// Returns whether ranks can share device memory by this module. With null they cannot.
bool can_share(const crossrail_device_module* module);

// Copies between memory of any kind; returns when the bytes have arrived. Errors: system.
Status copy(void* to, const void* from, std::size_t bytes);
// The same of rows, and of nothing between them; each side of them all is memory of one kind.
Status copy_rows(std::span<const crossrail_rows> rows);

// What a module answers, as a Status. Errors: system.
Status answered(const char* wrong);

// Bytes in a row, as one side of a movement.
inline crossrail_elements row(std::byte* at) { return {at, 0, 0, 0, nullptr, 0, 0, {}}; }

}  // namespace crossrail::device
