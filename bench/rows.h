// These are blocks that lie in a row in a buffer: all of equal length, or each of its own length.
#pragma once

#include <climits>
#include <cstdio>
#include <vector>

#include "harness.h"
#include "pattern.h"

namespace bench {

inline std::size_t place_of(const Datatype& type, const Exchange& exchange, int index) {
  return type.reach(exchange.block) * static_cast<std::size_t>(index);
}

// Counts wrong blocks of equal length in a row with one block from every rank, each sent to the rank `to`.
inline std::uint64_t wrong_in_row(const std::byte* recv, const Exchange& exchange, int to, std::uint64_t seed) {
  std::uint64_t wrong = 0;
  for (int from = 0; from < exchange.ranks; ++from) {
    wrong += !exchange.received->is_right(recv + place_of(*exchange.received, exchange, from), exchange.block, word_of(from, to, seed));
  }
  return wrong;
}

// Blocks has one block for each rank, as MPI's v-collectives take them, without gaps between them.
struct Blocks {
  std::vector<int> counts, places;
  std::size_t bytes = 0;

  std::byte* at(std::byte* buffer, const Datatype& type, int index) const { return buffer + static_cast<std::size_t>(places[index]) * type.extent; }
  const std::byte* at(const std::byte* buffer, const Datatype& type, int index) const {
    return buffer + static_cast<std::size_t>(places[index]) * type.extent;
  }
  std::size_t length(const Datatype& type, int index) const { return static_cast<std::size_t>(counts[index]) * type.data_bytes; }
};

// `length_at(index)` returns bytes of data. Ends the program if places exceed an int.
template <class LengthAt>
Blocks blocks_in_row(const Exchange& exchange, const Datatype& type, LengthAt length_at) {
  Blocks row;
  std::size_t elements = 0;
  for (int index = 0; index < exchange.ranks; ++index) {
    const std::size_t length = length_at(index);
    row.places.push_back(static_cast<int>(elements));
    row.counts.push_back(type.count(length));
    elements += length / type.data_bytes;
    if (elements > INT_MAX) {
      std::fprintf(stderr, "bench: blocks of %zu bytes for %d ranks are more than MPI's displacements can hold\n", exchange.block, exchange.ranks);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
  }
  row.bytes = elements * type.extent;
  return row;
}

// Returns whether --empty-percent leaves the block out. A hash that both ends know decides it, in the same way in every call.
inline bool is_empty(const Exchange& exchange, int from, int to) {
  constexpr std::uint64_t kSeed = 0x5eed;
  return static_cast<int>((word_of(from, to, kSeed) >> 32) % 100) < exchange.empty_percent;
}

// Returns the bytes of the block from one rank to another, by --counts and --empty-percent. If each rank has one block for all ranks or from all,
// both arguments are that rank.
inline std::size_t length_of(const Exchange& exchange, int from, int to) {
  if (is_empty(exchange, from, to)) return 0;
  if (exchange.counts == Counts::equal) return exchange.block;
  double all = 0;
  for (int rank = 0; rank < exchange.ranks; ++rank) all += 1.0 / (rank + 1);
  const double exact = static_cast<double>(exchange.block) * exchange.ranks / (all * (to + 1));
  const std::size_t multiple = exchange.block % kBlockUnit == 0 ? kBlockUnit : 1;
  return static_cast<std::size_t>(exact) / multiple * multiple;
}

}  // namespace bench
