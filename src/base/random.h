// Numbers that nobody can guess and nobody else has.
#pragma once

#include <cstdint>
#include <random>

namespace crossrail {

inline std::uint64_t random_word() {
  std::random_device random;
  return (static_cast<std::uint64_t>(random()) << 32) | random();
}

}  // namespace crossrail
