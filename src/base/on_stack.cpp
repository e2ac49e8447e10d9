#include "base/on_stack.h"

#include "base/thread_stack.h"

namespace crossrail {
namespace {

// The sanitizers are told to let this read what may be no object any more.
[[gnu::no_sanitize("address", "thread")]] std::uint64_t read_mark(const volatile std::uint64_t* mark) { return *mark; }

}  // namespace

bool left_on_stack(const volatile std::uint64_t* mark, std::uint64_t made_with, const void* here) {
  const ThreadStack& own = stack_of_thread();
  const auto object = reinterpret_cast<std::uintptr_t>(mark), frame = reinterpret_cast<std::uintptr_t>(here);
  if (!own.has(object) || !own.has(frame)) return false;
  return object <= frame || read_mark(mark) != made_with;
}

}  // namespace crossrail
