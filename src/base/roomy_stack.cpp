#include "base/roomy_stack.h"

#include <cstdint>

#include "base/fiber.h"
#include "base/thread_stack.h"

namespace crossrail {
namespace {

// Returns false on a stack that is not the thread's own, such as a coroutine's.
bool has_room(std::size_t bytes) {
  const ThreadStack& own = stack_of_thread();
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return !own.known() || (own.has(here) && here - own.lowest >= bytes);
}

}  // namespace

void run_with_room(std::size_t bytes, void (*job)(void*), void* argument) {
  if (has_room(bytes)) return job(argument);
  Fiber roomy;
  if (!roomy.usable()) return job(argument);
  roomy.start(job, argument);
}

}  // namespace crossrail
