// Lengths of the blocks of a call in which every rank knows all of them: equal, by Zipf's law, some of them empty.
#pragma once

#include <climits>
#include <cstdio>
#include <vector>

#include "harness.h"
#include "pattern.h"

namespace bench {

// As int, in elements: how long every block is, and where it begins.
struct Lengths {
  std::vector<int> counts, places;
  std::size_t elements = 0;
};

// Bytes of block `number`, in whole units.
inline std::size_t length_of(const Exchange& exchange, int number, std::size_t unit) {
  constexpr std::uint64_t kSeed = 0x5eed;  // It is not the data's: the same blocks are empty in every call.
  if (static_cast<int>((word_of(number, 0, kSeed) >> 32) % 100) < exchange.empty_percent) return 0;
  if (exchange.counts == Counts::equal) return exchange.block;
  double all = 0;
  for (int rank = 0; rank < exchange.ranks; ++rank) all += 1.0 / (rank + 1);
  return static_cast<std::size_t>(static_cast<double>(exchange.block) * exchange.ranks / (all * (number + 1))) / unit * unit;
}

// `unit`: bytes of which every length is a multiple, `element`: those that a count counts.
inline void lay_out(Lengths& lengths, const Exchange& exchange, std::size_t unit, std::size_t element) {
  lengths = {};
  for (int number = 0; number < exchange.ranks; ++number) {
    const std::size_t count = length_of(exchange, number, unit) / element;
    lengths.counts.push_back(static_cast<int>(count));
    lengths.places.push_back(static_cast<int>(lengths.elements));
    lengths.elements += count;
    if (lengths.elements <= INT_MAX) continue;
    std::fprintf(stderr, "bench: blocks of %zu bytes for %d ranks are more than displacements of int hold\n", exchange.block, exchange.ranks);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}

}  // namespace bench
