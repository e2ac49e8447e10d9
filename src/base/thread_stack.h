// Where the stack of this thread lies. Code may run elsewhere: on a fiber's, a coroutine's or a signal handler's own.
#pragma once

#include <cstdint>

namespace crossrail {

// Both 0: not known. The main thread's reaches as far as its limit lets it grow.
struct ThreadStack {
  std::uintptr_t lowest = 0, end = 0;
  bool known() const { return end != 0; }
  bool has(std::uintptr_t address) const { return lowest <= address && address < end; }
};

// Found once a thread.
const ThreadStack& stack_of_thread();

}  // namespace crossrail
