// MemoryReserve is what crossrail's own `new` takes from when malloc has nothing left, so that a call for which other ranks wait comes to
// its end, and code that allocates small pieces needs no way to fail. Large pieces, for which there is a way to fail, are taken by new
// (std::nothrow), which leaves the reserve alone. It serves this library alone: the program's `new` is not changed. Sanitizers have a `new`
// of their own.
#pragma once

#include <cstddef>

namespace crossrail {

class MemoryReserve {
 public:
  static constexpr std::size_t kBytes = 4 * 1024 * 1024;  // It takes only address space until it is used.
  static constexpr std::size_t kAlignment = 64;           // `take` cannot align to more.

  // Returns null if the reserve has no such piece.
  static void* take(std::size_t bytes, std::size_t alignment = kAlignment);
  static bool holds(const void* piece);
  static void give_back(void* piece);
};

}  // namespace crossrail
