// A device made of host memory (virtual_world/host_device.h) replaces CUDA's, so that benches run unchanged where there is no GPU.

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "device_driver.h"

namespace bench::device {
namespace {

struct Simulation {
  void* (*allocate)(std::size_t bytes, int kind);
  void (*release)(void* memory);
  void* (*touchable)(const void* memory);
};

Simulation simulation;

constexpr Result kNoMemory = 2;  // It is CUDA's number for that.

void* pointer_of(Address memory) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(memory)); }

// Returns where the processor finds device memory; host memory stays where it is.
void* found(Address memory) { return simulation.touchable(pointer_of(memory)); }

Result allocate(Address* memory, std::size_t bytes) {
  *memory = reinterpret_cast<std::uintptr_t>(simulation.allocate(bytes, 0));
  return *memory == 0 ? kNoMemory : 0;
}

Result release(Address memory) {
  simulation.release(pointer_of(memory));
  return 0;
}

Result copy(Address to, Address from, std::size_t bytes) {
  std::memmove(found(to), found(from), bytes);
  return 0;
}

Result set(Address memory, unsigned char value, std::size_t bytes) {
  std::memset(found(memory), value, bytes);
  return 0;
}

Result allocate_pinned(void** memory, std::size_t bytes, unsigned /*flags*/) {
  *memory = std::malloc(bytes);
  return *memory == nullptr ? kNoMemory : 0;
}

Result release_pinned(void* memory) {
  std::free(memory);
  return 0;
}

// A kernel begins at once and ends when it is told to by what its first parameter points to (beside.cpp).
const volatile unsigned* stop_of_kernel = nullptr;

Result launch(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void** parameters, void**) {
  stop_of_kernel = static_cast<unsigned*>(simulation.touchable(*static_cast<void**>(parameters[0])));
  **static_cast<unsigned**>(parameters[1]) = 1;
  return 0;
}

Result ask(void*) {
  constexpr Result kNotReady = 600;  // It is CUDA's number for that.
  return stop_of_kernel != nullptr && *stop_of_kernel == 0 ? kNotReady : 0;
}

Result one(int* number) {
  *number = 1;
  return 0;
}

}  // namespace

bool simulated_driver(void* library, Driver& driver) {
  simulation.allocate = reinterpret_cast<decltype(simulation.allocate)>(dlsym(library, "host_device_alloc"));
  simulation.release = reinterpret_cast<decltype(simulation.release)>(dlsym(library, "host_device_free"));
  simulation.touchable = reinterpret_cast<decltype(simulation.touchable)>(dlsym(library, "host_device_touchable"));
  if (simulation.allocate == nullptr || simulation.release == nullptr || simulation.touchable == nullptr) return false;
  driver = {};
  driver.init = [](unsigned) { return 0; };
  driver.count = driver.version = one;
  driver.get = [](int* device, int) { return *device = 0; };
  driver.name = [](char* text, int length, int) { return std::snprintf(text, static_cast<std::size_t>(length), "a device made of host memory") > 0 ? 0 : 1; };
  driver.retain = [](void** context, int) { return *context = nullptr, 0; };
  driver.make_current = [](void*) { return 0; };
  driver.wait = [](void*) { return 0; };
  driver.text = [](Result, const char** text) { return *text = "a device made of host memory fails", 0; };
  driver.allocate = allocate, driver.release = release, driver.copy = copy, driver.set = set;
  driver.allocate_pinned = allocate_pinned, driver.release_pinned = release_pinned;
  driver.current = [](int* device) { return *device = 0; };
  driver.attribute = [](int* value, int, int) { return one(value); };
  driver.load = [](void** module, const void*) { return *module = nullptr, 0; };
  driver.find = [](void** kernel, void*, const char*) { return *kernel = nullptr, 0; };
  driver.open_stream = [](void** stream, unsigned) { return *stream = nullptr, 0; };
  driver.ask = ask, driver.launch = launch;
  return true;
}

}  // namespace bench::device
