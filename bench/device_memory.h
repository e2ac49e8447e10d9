// Memory of a CUDA device, through the driver's API. The driver is loaded when a bench asks for it:
// benches build and run where there is none. A libcuda.so.1 that is of a device made of host memory (virtual_world/host_device.h)
// does as well, to try a bench: its times mean nothing.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace bench::device {

// Takes a device for this process: the local rank's, in turn. Returns what is wrong; empty: nothing.
std::string open(int local_rank);

struct Facts {
  std::string model, driver, cuda;  // "NVIDIA H200", "580.159.04", "13.0"
};

// Of the device taken; all empty where none is.
Facts facts();

void* allocate(std::size_t bytes);  // null: there is no room
void release(void* memory);           // also null

// Between host and device memory, and within the device. These return when the bytes have arrived, and end
// the program with a sentence where the driver fails.
void copy(void* to, const void* from, std::size_t bytes);
void set(void* memory, int value, std::size_t bytes);

// An allocation of this process that others of the node open; false and null where it, or the driver, does not let them.
struct Handle {
  std::array<char, 64> bytes;
};
bool share(void* memory, Handle& handle);
void* open_shared(const Handle& handle);
void close_shared(void* memory);  // also null

// Host memory that the device reads and writes by itself.
void* allocate_pinned(std::size_t bytes);  // null: there is no room
void release_pinned(void* memory);         // also null

}  // namespace bench::device
