// The bytes of a block depend on everything that must not be confused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace bench {

inline std::uint64_t word_of(int from, int to, std::uint64_t seed) {
  std::uint64_t word = seed * 0x9e3779b97f4a7c15ull + static_cast<std::uint64_t>(from) * 0xbf58476d1ce4e5b9ull +
                       static_cast<std::uint64_t>(to) * 0x94d049bb133111ebull;
  word ^= word >> 29;
  return word * 0xd6e8feb86659fd93ull;
}

constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ull;

inline std::byte byte_of(std::uint64_t word, std::size_t at) {
  return static_cast<std::byte>((word + at / 8 * kStep) >> (at % 8 * 8));
}

// It fills whole words where possible, because large blocks would take seconds byte by byte.
inline void fill_block(std::byte* block, std::size_t bytes, std::uint64_t word) {
  std::size_t at = 0;
  for (; at + 8 <= bytes; at += 8) {
    const std::uint64_t eight = word + at / 8 * kStep;
    std::memcpy(block + at, &eight, 8);
  }
  for (; at < bytes; ++at) block[at] = byte_of(word, at);
}

inline bool block_is_right(const std::byte* block, std::size_t bytes, std::uint64_t word) {
  std::size_t at = 0;
  for (; at + 8 <= bytes; at += 8) {
    const std::uint64_t eight = word + at / 8 * kStep;
    if (std::memcmp(block + at, &eight, 8) != 0) return false;
  }
  for (; at < bytes; ++at) {
    if (block[at] != byte_of(word, at)) return false;
  }
  return true;
}

}  // namespace bench
