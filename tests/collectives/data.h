// What calls of tests send and receive, by the definition of the collectives. Compiled without sanitizers, under which making and comparing
// it took most of the time of most tests: what these functions do to the memory of a test is memcpy and memcmp, which sanitizers see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "comm/shape.h"

namespace crossrail::tests {

// The block that `source` sends to `destination` in call `call`.
void fill_block(std::byte* block, std::size_t bytes, std::uint64_t call, int source, int destination);
bool same_bytes(const std::byte* one, const std::byte* other, std::size_t bytes);

// Elements to be combined, int32 or float64: small whole numbers, so that no order of combining is the only right one. Sums of a few are
// exact in a double, and products of as many wrap.
struct Numbers {
  Reduction reduction;
  std::uint64_t call;
  int block = 0;  // of the rank's row
};
void fill_numbers(std::byte* to, std::size_t bytes, const Numbers& numbers, int rank);
// Those of so many ranks combined. Empty, or the first that is wrong.
std::string wrong_number(const std::byte* found, std::size_t bytes, const Numbers& numbers, int ranks);

}  // namespace crossrail::tests
