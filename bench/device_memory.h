// These functions handle memory of a CUDA device through the driver's API. The driver is loaded when a
// bench asks for it, so benches build and run where there is none. A libcuda.so.1 of a device made of
// host memory (virtual_world/host_device.h) can be used to try a bench, but its times mean nothing.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace bench::device {

// Takes a device for this process. The local ranks take turns. Returns what is wrong, or an empty string.
std::string open(int local_rank);

struct Facts {
  std::string model, driver, cuda;  // They are, for example, "NVIDIA H200", "580.159.04" and "13.0".
};

// Returns the facts of the device that was taken, or empty strings if none was.
Facts facts();

void* allocate(std::size_t bytes);  // It returns null if there is no room.
void release(void* memory);           // It accepts null.

// Copies go between host and device memory, or within the device. The functions return when the bytes have arrived, and end the program with a
// sentence if the driver fails.
void copy(void* to, const void* from, std::size_t bytes);
void set(void* memory, int value, std::size_t bytes);

// A Handle is an allocation of this process that other processes of the node
// open. It is false and null if the allocation or the driver does not allow that.
struct Handle {
  std::array<char, 64> bytes;
};
bool share(void* memory, Handle& handle);
void* open_shared(const Handle& handle);
void close_shared(void* memory);  // It accepts null.

// The device reads and writes this host memory by itself.
void* allocate_pinned(std::size_t bytes);  // It returns null if there is no room.
void release_pinned(void* memory);         // It accepts null.

}  // namespace bench::device
