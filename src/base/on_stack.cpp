#include "base/on_stack.h"

#include <pthread.h>

namespace crossrail {
namespace {

struct Stack {
  std::uintptr_t lowest = 0, end = 0;
  bool has(std::uintptr_t address) const { return lowest <= address && address < end; }
};

Stack own_stack() {
  Stack own;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return own;
  void* lowest = nullptr;
  std::size_t bytes = 0;
  if (pthread_attr_getstack(&attributes, &lowest, &bytes) == 0) {
    own.lowest = reinterpret_cast<std::uintptr_t>(lowest);
    own.end = own.lowest + bytes;
  }
  (void)pthread_attr_destroy(&attributes);
  return own;
}

// Sanitizers know that nothing is there any more.
[[gnu::no_sanitize("address", "thread")]] std::uint64_t read(const volatile std::uint64_t* mark) { return *mark; }

}  // namespace

bool left_on_stack(const volatile std::uint64_t* mark, std::uint64_t made_with, const void* here) {
  static thread_local const Stack own = own_stack();
  const auto object = reinterpret_cast<std::uintptr_t>(mark), frame = reinterpret_cast<std::uintptr_t>(here);
  if (!own.has(object) || !own.has(frame)) return false;
  return object <= frame || read(mark) != made_with;
}

}  // namespace crossrail
