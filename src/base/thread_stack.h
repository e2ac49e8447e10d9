// This header says where the stack of this thread lies. Code may run elsewhere, on the stack of a fiber, a coroutine or a signal handler.
#pragma once

#include <cstdint>

namespace crossrail {

// Both are 0 if the stack is not known. The main thread's reaches as far as its limit lets it grow.
struct ThreadStack {
  std::uintptr_t lowest = 0, end = 0;
  bool known() const { return end != 0; }
  bool has(std::uintptr_t address) const { return lowest <= address && address < end; }
};

// The stack is found once for each thread.
const ThreadStack& stack_of_thread();

}  // namespace crossrail
