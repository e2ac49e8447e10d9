// This header has helpers for sizes, alignment, hashing and small copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/simulated_time.h"

namespace crossrail {

inline constexpr std::size_t kCacheLineBytes = 64;
inline constexpr std::size_t kPageBytes = 4096;

constexpr std::size_t round_up(std::size_t bytes, std::size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

constexpr std::uint64_t kHashSeed = 0xcbf29ce484222325ull;

// This is FNV-1a over the eight bytes of `word`.
constexpr std::uint64_t hash_word(std::uint64_t hash, std::uint64_t word) {
  for (int byte = 0; byte < 8; ++byte) {
    hash = (hash ^ (word >> (8 * byte) & 0xff)) * 0x100000001b3ull;
  }
  return hash;
}

// This serves the same purpose in a few cycles, for the hot path: every bit of the result depends on every bit of `word`.
constexpr std::uint64_t mix_word(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
  hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93ull;
  return hash ^ hash >> 32;
}

inline std::uint64_t hash_bytes(const void* data, std::size_t bytes) {
  const auto* byte = static_cast<const unsigned char*>(data);
  std::uint64_t hash = kHashSeed;
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ byte[i]) * 0x100000001b3ull;
  return hash;
}

// This is a memcpy whose common tiny sizes become single moves; large ones go to the C library. Empty blocks may be at null.
inline void copy_block(void* to, const void* from, std::size_t bytes) {
  if constexpr (simulated_time::on) return simulated_time::copy(to, from, bytes);
  switch (bytes) {
    case 0: return;
    case 1: std::memcpy(to, from, 1); return;
    case 2: std::memcpy(to, from, 2); return;
    case 4: std::memcpy(to, from, 4); return;
    case 8: std::memcpy(to, from, 8); return;
    case 16: std::memcpy(to, from, 16); return;
    case 32: std::memcpy(to, from, 32); return;
    default: std::memcpy(to, from, bytes); return;
  }
}

}  // namespace crossrail
