// MemoryReserve: what crossrail's own `new` gives where malloc has nothing left, so that a call for which other ranks wait comes to its end
// and small pieces of memory need no way of their own to fail. Large ones, for which there is one, are taken by new (std::nothrow), which
// leaves the reserve alone. Of this library alone: the program's `new` is not changed. Not under sanitizers, which have their own.
#pragma once

#include <cstddef>

namespace crossrail {

class MemoryReserve {
 public:
  static constexpr std::size_t kBytes = 4 * 1024 * 1024;  // of address space until used
  static constexpr std::size_t kAlignment = 64;           // at most

  // Null if it has no such piece.
  static void* take(std::size_t bytes, std::size_t alignment = kAlignment);
  static bool holds(const void* piece);
  static void give_back(void* piece);
};

}  // namespace crossrail
