// What the benches of gathers and scatters share. Rank 0 is the root; each rank's block lies, on both sides, where it does in the root's row,
// so that one filling serves MPI_IN_PLACE, too.
#pragma once

#include <numeric>
#include <vector>

#include "calls.h"
#include "harness.h"
#include "pattern.h"

namespace bench::rooted {

constexpr int kRoot = 0;

inline bool is_root(const Exchange& exchange) { return exchange.rank == kRoot; }
inline std::size_t place_of(const Datatype& type, const Exchange& exchange, int rank) { return type.reach(exchange.block) * static_cast<std::size_t>(rank); }

inline GrowableBuffer prepare(const Exchange& exchange) {
  return {place_of(*exchange.sent, exchange, exchange.ranks), place_of(*exchange.received, exchange, exchange.ranks)};
}

// Into the root, or out of it.
inline double bandwidth(const Exchange& exchange, double seconds) { return static_cast<double>(exchange.block) * (exchange.ranks - 1) / seconds; }

// What MPI is given. In place only the root's arguments differ: the others' row is then that of the receive buffer.
struct Sides {
  const void* from;
  void* to;
};

namespace gather {

inline void fill(std::byte* send, const Exchange& exchange, std::uint64_t seed) {
  exchange.sent->fill(send + place_of(*exchange.sent, exchange, exchange.rank), exchange.block, word_of(exchange.rank, kRoot, seed));
}

inline std::uint64_t check(const std::byte* recv, const Exchange& exchange, std::uint64_t seed) {
  std::uint64_t wrong = 0;
  for (int from = 0; is_root(exchange) && from < exchange.ranks; ++from) {
    wrong += !exchange.received->is_right(recv + place_of(*exchange.received, exchange, from), exchange.block, word_of(from, kRoot, seed));
  }
  return wrong;
}

inline Sides sides_of(const void* send, void* recv, const Exchange& exchange) {
  const bool in_place = send == MPI_IN_PLACE;
  if (in_place && is_root(exchange)) return {MPI_IN_PLACE, recv};
  const auto* const row = static_cast<const std::byte*>(in_place ? recv : send);
  return {row + place_of(*exchange.sent, exchange, exchange.rank), recv};
}

}  // namespace gather

namespace scatter {

inline void fill(std::byte* send, const Exchange& exchange, std::uint64_t seed) {
  for (int to = 0; is_root(exchange) && to < exchange.ranks; ++to) {
    exchange.sent->fill(send + place_of(*exchange.sent, exchange, to), exchange.block, word_of(kRoot, to, seed));
  }
}

inline std::uint64_t check(const std::byte* recv, const Exchange& exchange, std::uint64_t seed) {
  const std::byte* const own = recv + place_of(*exchange.received, exchange, exchange.rank);
  return exchange.received->is_right(own, exchange.block, word_of(kRoot, exchange.rank, seed)) ? 0 : 1;
}

inline Sides sides_of(const void* send, void* recv, const Exchange& exchange) {
  const bool in_place = send == MPI_IN_PLACE;
  if (in_place && is_root(exchange)) return {recv, MPI_IN_PLACE};
  return {send, static_cast<std::byte*>(recv) + place_of(*exchange.received, exchange, exchange.rank)};
}

}  // namespace scatter

// Of the v forms: the root's row, as counts and displacements in elements.
struct Row {
  std::vector<int> counts, places;
  Row(const Datatype& type, const Exchange& exchange) : counts(static_cast<std::size_t>(exchange.ranks), type.count(exchange.block)), places(counts.size()) {
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
  }
};

}  // namespace bench::rooted
