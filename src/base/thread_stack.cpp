#include "base/thread_stack.h"

#include <pthread.h>

#include <cstddef>

namespace crossrail {
namespace {

ThreadStack find_stack() {
  ThreadStack own;
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

}  // namespace

const ThreadStack& stack_of_thread() {
  static thread_local const ThreadStack own = find_stack();
  return own;
}

}  // namespace crossrail
