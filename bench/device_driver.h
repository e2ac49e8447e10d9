// These are the functions of CUDA's driver that benches call, declared here so that CUDA's headers are not needed.
#pragma once

#include <cstddef>
#include <string>

#include "device_memory.h"

namespace bench::device {

using Result = int;
using Address = unsigned long long;

struct Driver {
  Result (*init)(unsigned flags);
  Result (*count)(int* devices);
  Result (*get)(int* device, int ordinal);
  Result (*name)(char* text, int length, int device);
  Result (*version)(int* number);
  Result (*retain)(void** context, int device);
  Result (*make_current)(void* context);
  Result (*allocate)(Address* memory, std::size_t bytes);
  Result (*release)(Address memory);
  Result (*copy)(Address to, Address from, std::size_t bytes);
  Result (*set)(Address memory, unsigned char value, std::size_t bytes);
  Result (*wait)(void* stream);
  Result (*text)(Result result, const char** text);
  Result (*share)(Handle* handle, Address memory);  // It and the next two are null if there is no such function.
  Result (*open_shared)(Address* memory, Handle handle, unsigned flags);
  Result (*close_shared)(Address memory);
  Result (*allocate_pinned)(void** memory, std::size_t bytes, unsigned flags);
  Result (*release_pinned)(void* memory);
  // It is null if there is no such function.
  Result (*current)(int* device);
  Result (*attribute)(int* value, int which, int device);
  Result (*load)(void** module, const void* code);
  Result (*find)(void** kernel, void* module, const char* name);
  Result (*open_stream)(void** stream, unsigned flags);
  Result (*ask)(void* stream);
  Result (*launch)(void* kernel, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned memory, void* stream, void** parameters, void** more);
};

// Returns the driver of the device that was taken.
const Driver& loaded_driver();
std::string text_of(Result result);
// Ends the program with a sentence if the driver has failed.
void insist(Result result, const char* what);

// Sets the functions if the library is that of a device made of host memory.
bool simulated_driver(void* library, Driver& driver);

}  // namespace bench::device
