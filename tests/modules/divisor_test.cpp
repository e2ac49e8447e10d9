// These tests compare divisions as kernels make them with the processor's own.
#include "kernels/divisor.h"

#include <gtest/gtest.h>

#include <random>

namespace {

std::uint64_t quotient(std::uint64_t number, const kernels::Divisor& by) {
  __extension__ typedef unsigned __int128 Wide;
  return by.multiplier == 0 ? number : static_cast<std::uint64_t>(Wide{number} * by.multiplier >> 64) >> by.shift;
}

TEST(Divisor, divides_small_numbers) {
  for (std::uint64_t divisor = 1; divisor < 300; ++divisor) {
    const kernels::Divisor by = kernels::divisor_of(divisor);
    for (std::uint64_t number = 0; number < 3000; ++number) ASSERT_EQ(quotient(number, by), number / divisor) << number << " / " << divisor;
  }
}

TEST(Divisor, divides_numbers_of_all_lengths_and_beside_multiples) {
  std::mt19937_64 random(std::random_device{}());
  const auto any = [&] { return random() >> (1 + random() % 63); };
  for (int again = 0; again < 1'000'000; ++again) {
    const std::uint64_t divisor = any() | (again % 2 == 0 ? 1 : 2);
    const std::uint64_t whole = any() / divisor * divisor;
    for (const std::uint64_t number : {any(), whole, whole == 0 ? 0 : whole - 1, (std::uint64_t{1} << 63) - 1}) {
      ASSERT_EQ(quotient(number, kernels::divisor_of(divisor)), number / divisor) << number << " / " << divisor;
    }
  }
}

}  // namespace
