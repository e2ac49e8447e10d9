// Benches that reduce have these elements: floats (bytes, for sizes that are no multiple of four), whose sums over the ranks are known.
#pragma once

#include "harness.h"

namespace bench {

struct Elements {
  int count;
  MPI_Datatype type;
};

inline bool floats(const Exchange& exchange) { return exchange.block % sizeof(float) == 0; }

// It counts the elements of a block.
inline Elements elements_of(const Exchange& exchange) {
  const std::size_t bytes = floats(exchange) ? sizeof(float) : 1;
  return {static_cast<int>(exchange.block / bytes), floats(exchange) ? MPI_FLOAT : MPI_UNSIGNED_CHAR};
}

// All ranks have this in common at a place, and each rank adds its number. Sums of such small integers are exact.
inline unsigned common_part(std::size_t place, std::uint64_t seed) { return static_cast<unsigned>((place * 7 + seed * 131) % 509); }

template <class Type>
void fill_as(std::byte* block, const Exchange& exchange, std::uint64_t seed) {
  auto* const all = reinterpret_cast<Type*>(block);
  for (std::size_t place = 0; place < exchange.block / sizeof(Type); ++place) {
    all[place] = static_cast<Type>(common_part(place, seed) + static_cast<unsigned>(exchange.rank));
  }
}

template <class Type>
std::uint64_t wrong_as(const std::byte* block, const Exchange& exchange, std::uint64_t seed) {
  const auto* const all = reinterpret_cast<const Type*>(block);
  const auto ranks = static_cast<unsigned>(exchange.ranks);
  std::uint64_t wrong = 0;
  for (std::size_t place = 0; place < exchange.block / sizeof(Type); ++place) {
    wrong += all[place] != static_cast<Type>(ranks * common_part(place, seed) + ranks * (ranks - 1) / 2);
  }
  return wrong;
}

// Fills this rank's block of elements that are summed, and counts wrong elements in the sums of all ranks' blocks of this seed.
inline void fill_elements(std::byte* block, const Exchange& exchange, std::uint64_t seed) {
  floats(exchange) ? fill_as<float>(block, exchange, seed) : fill_as<unsigned char>(block, exchange, seed);
}
inline std::uint64_t wrong_sums(const std::byte* block, const Exchange& exchange, std::uint64_t seed) {
  return floats(exchange) ? wrong_as<float>(block, exchange, seed) : wrong_as<unsigned char>(block, exchange, seed);
}

}  // namespace bench
