// Division by a number that is known at launch becomes a multiplication, because the device's own divisions are long, in time and in text.
#pragma once

#include <stdint.h>

namespace kernels {

// A number below 2^63 is divided as the upper 64 bits of its product with `multiplier`, shifted (Granlund, Montgomery: Division by
// invariant integers using multiplication, 1994).
struct Divisor {
  uint64_t multiplier;  // It is 0 if the divisor is 1.
  uint64_t shift;
};

// multiplier is 2^(63 + bits) / number, rounded up. It is at least 2^63, and so below 2^64, as number > 2^(bits - 1).
inline Divisor divisor_of(uint64_t number) {
  if (number <= 1) return {0, 0};
  uint64_t bits = 1;
  while (bits < 63 && uint64_t{1} << bits < number) ++bits;
  __extension__ typedef unsigned __int128 Wide;
  return {static_cast<uint64_t>(((Wide{1} << (63 + bits)) + number - 1) / number), bits - 1};
}

}  // namespace kernels
