// This returns numbers that nobody can guess and nobody else has.
#pragma once

#include <sys/random.h>

#include <cstdint>
#include <random>

namespace crossrail {

inline std::uint64_t random_word() {
  std::uint64_t word = 0;
  if (getrandom(&word, sizeof word, 0) == static_cast<ssize_t>(sizeof word)) return word;
  std::random_device random;
  return (static_cast<std::uint64_t>(random()) << 32) | random();
}

}  // namespace crossrail
