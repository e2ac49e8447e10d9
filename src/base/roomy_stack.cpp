#include "base/roomy_stack.h"

#include <pthread.h>

#include <cstdint>

#include "base/fiber.h"

namespace crossrail {
namespace {

struct Bounds {
  std::uintptr_t low = 0, high = 0;  // high 0: not known
};

// The main thread's grows as far as its limit lets it: the C library reckons with that.
Bounds bounds_of_thread() {
  Bounds bounds;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return bounds;
  void* low = nullptr;
  std::size_t bytes = 0;
  if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
    bounds.low = reinterpret_cast<std::uintptr_t>(low);
    bounds.high = bounds.low + bytes;
  }
  (void)pthread_attr_destroy(&attributes);
  return bounds;
}

// False on a stack that is not the thread's, such as a coroutine's.
bool has_room(std::size_t bytes) {
  static thread_local const Bounds bounds = bounds_of_thread();
  if (bounds.high == 0) return true;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return here >= bounds.low && here <= bounds.high && here - bounds.low >= bytes;
}

}  // namespace

void run_with_room(std::size_t bytes, void (*job)(void*), void* argument) {
  if (has_room(bytes)) return job(argument);
  Fiber roomy;
  if (!roomy.usable()) return job(argument);
  roomy.start(job, argument);
}

}  // namespace crossrail
