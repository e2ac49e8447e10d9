// The benches of gathers and scatters share this code. Rank 0 is the root. Each rank's block has, on both sides, the same place as in the root's row,
// so that one filling also serves MPI_IN_PLACE.
#pragma once

#include "forms.h"
#include "rows.h"

namespace bench::rooted {

constexpr int kRoot = 0;

inline bool is_root(const Exchange& exchange) { return exchange.rank == kRoot; }

inline GrowableBuffer prepare(const Exchange& exchange) {
  return {place_of(*exchange.sent, exchange, exchange.ranks), place_of(*exchange.received, exchange, exchange.ranks)};
}

// Returns the root's row in the v forms.
inline Blocks row_of(const Exchange& exchange, const Datatype& type) {
  return blocks_in_row(exchange, type, [&](int) { return exchange.block; });
}

// These are MPI's arguments. In place, only the root's differ; the others' row is then that of the receive buffer.
struct Sides {
  const void* from;
  void* to;
};

namespace gather {

inline void fill(std::byte* send, const Exchange& exchange, std::uint64_t seed) {
  exchange.sent->fill(send + place_of(*exchange.sent, exchange, exchange.rank), exchange.block, word_of(exchange.rank, kRoot, seed));
}

inline std::uint64_t check(const std::byte* recv, const Exchange& exchange, std::uint64_t seed) {
  return is_root(exchange) ? wrong_in_row(recv, exchange, kRoot, seed) : 0;
}

inline Sides sides_of(const void* send, void* recv, const Exchange& exchange) {
  const bool in_place = send == MPI_IN_PLACE;
  if (in_place && is_root(exchange)) return {MPI_IN_PLACE, recv};
  return {static_cast<const std::byte*>(in_place ? recv : send) + place_of(*exchange.sent, exchange, exchange.rank), recv};
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

}  // namespace bench::rooted
