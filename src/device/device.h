// This header is the only way to device memory. It classifies a pointer, copies any kind of memory, and gives the module that speaks to the
// vendor's driver. The module is loaded when that driver shows up in the process. Without one, all memory is host memory.
#pragma once

#include <cstddef>
#include <span>

#include "base/status.h"
#include "crossrail/device_module.h"

namespace crossrail::device {

// Returns whether a GPU driver that has devices is loaded in this process but no module of crossrail for it can be loaded. Nobody here can
// then tell its pointers from host pointers. It also looks for drivers that have been loaded meanwhile.
bool driver_without_module();

// Returns whether a GPU driver is loaded in this process. It may have mapped memory that no other process can read.
bool driver_present();

// Returns whether a driver is loaded, or may be because the machine has devices.
bool driver_may_come();

// Returns null if there is none. If drivers of several vendors are loaded, it is the module of the first. Memory of the others is known as
// device memory and copied, but no more.
const crossrail_device_module* module();
// Tests call this. The given module answers every process-wide question from now on.
void use_module(const crossrail_device_module* pretended);

// Returns what memory `pointer` points to according to a module. It is quick.
inline crossrail_memory_kind kind_of(const crossrail_device_module& module, const void* pointer) {
  crossrail_memory memory{};
  module.describe(pointer, 0, &memory);
  return memory.kind;
}

// Returns whether the processor must not touch what `pointer` points to.
bool is_device_memory(const void* pointer);

// Returns whether ranks can share device memory by this module. With null they cannot.
bool can_share(const crossrail_device_module* module);

// Copies between memory of any kind. It returns when the bytes have arrived. It may fail with system.
Status copy(void* to, const void* from, std::size_t bytes);
// This does the same for rows, and leaves out what lies between them. Each side of all rows is memory of one kind.
Status copy_rows(std::span<const crossrail_rows> rows);

// Turns the answer of a module into a Status. It may fail with system.
Status answered(const char* wrong);

// Returns bytes in a row, as one side of a movement.
inline crossrail_elements row(std::byte* at) { return {at, 0, 0, 0, nullptr, 0, 0, {}}; }

}  // namespace crossrail::device
