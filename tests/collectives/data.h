// Calls of tests send and receive this, by the definition of the collectives. It is compiled without sanitizers, under which making and comparing it
// took most of the time of most tests. What these functions do to the memory of a test is memcpy and memcmp, which sanitizers see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "comm/shape.h"

namespace crossrail::tests {

// Fills the block that `source` sends to `destination` in call `call`.
void fill_block(std::byte* block, std::size_t bytes, std::uint64_t call, int source, int destination);
bool same_bytes(const std::byte* one, const std::byte* other, std::size_t bytes);

// These are elements to be combined, int32 or float64: small whole numbers, so that no order of combining is the only right one. Sums of a few are
// exact in a double, and products of as many wrap.
struct Numbers {
  Reduction reduction;
  std::uint64_t call;
  int block = 0;  // It is the block of the rank's row.
};
void fill_numbers(std::byte* to, std::size_t bytes, const Numbers& numbers, int rank);
// Compares with those of so many ranks combined. Returns the first that is wrong, or an empty text.
std::string wrong_number(const std::byte* found, std::size_t bytes, const Numbers& numbers, int ranks);

}  // namespace crossrail::tests
