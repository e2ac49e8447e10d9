// For these numbers it matters how elements are combined: in which order, rounded how often, true by which bits. Copying is tested, too.

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "collectives/combine.h"

namespace crossrail::tests {
namespace {

class EveryVersion : public testing::TestWithParam<Vectors> {};
INSTANTIATE_TEST_SUITE_P(vectors, EveryVersion, testing::ValuesIn(kVectors));

// With NaN and signed zeros the second operand wins only where it is less (or more), the same in all places of a vector.
TEST_P(EveryVersion, keeps_the_order_of_operands) {
  const Combine least = combine_of({Operation::minimum, Element::float64}, GetParam());
  const Combine most = combine_of({Operation::maximum, Element::float64}, GetParam());
  if (least == nullptr) GTEST_SKIP() << "not by this processor";
  const double none = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const double values[] = {none, infinity, -infinity, 0.0, -0.0, 1.0};
  for (const double a : values) {
    for (const double b : values) {
      std::vector<double> first(37, a), second(37, b), to(37);
      for (const Combine combine : {least, most}) {
        combine(reinterpret_cast<std::byte*>(first.data()), reinterpret_cast<std::byte*>(second.data()), reinterpret_cast<std::byte*>(to.data()), 37);
        const double wanted = (combine == least ? b < a : a < b) ? b : a;
        for (const double one : to) EXPECT_EQ(std::memcmp(&one, &wanted, sizeof one), 0) << a << ' ' << b;
      }
    }
  }
}

template <class Stored>
std::byte* bytes_of_row(std::vector<Stored>& row) {
  return reinterpret_cast<std::byte*>(row.data());
}

// No number is lost on the way to a float and back, infinities and denormals are themselves, and what is no number stays none. `last` has the bits of
// the largest that is a number, or infinity.
template <class Stored>
void know_all(Element element, unsigned last, Vectors vectors) {
  const Combine add = combine_of({Operation::sum, element}, vectors), most = combine_of({Operation::maximum, element}, vectors);
  if (add == nullptr) GTEST_SKIP() << "not by this processor";
  constexpr std::size_t kAll = std::size_t{1} << (8 * sizeof(Stored));
  constexpr unsigned kSign = kAll / 2;
  std::vector<Stored> all(kAll), zeros(kAll, kSign), sums(kAll), largest(kAll);
  for (std::size_t bits = 0; bits < kAll; ++bits) all[bits] = static_cast<Stored>(bits);
  add(bytes_of_row(all), bytes_of_row(zeros), bytes_of_row(sums), kAll);
  most(bytes_of_row(all), bytes_of_row(all), bytes_of_row(largest), kAll);
  for (std::size_t bits = 0; bits < kAll; ++bits) {
    const bool number = (bits & (kSign - 1)) <= last;
    EXPECT_TRUE(number ? sums[bits] == bits : (sums[bits] & (kSign - 1)) > last) << std::hex << bits << ' ' << unsigned{sums[bits]};
    EXPECT_TRUE(number ? largest[bits] == bits : (largest[bits] & (kSign - 1)) > last) << std::hex << bits << ' ' << unsigned{largest[bits]};
  }
}
TEST_P(EveryVersion, knows_all_float16) { know_all<std::uint16_t>(Element::float16, 0x7c00, GetParam()); }
TEST_P(EveryVersion, knows_all_bfloat16) { know_all<std::uint16_t>(Element::bfloat16, 0x7f80, GetParam()); }
TEST_P(EveryVersion, knows_all_float8_e4m3) { know_all<std::uint8_t>(Element::float8_e4m3, 0x7e, GetParam()); }
TEST_P(EveryVersion, knows_all_float8_e5m2) { know_all<std::uint8_t>(Element::float8_e5m2, 0x7c, GetParam()); }

template <class Stored>
void expect_sums(Element element, std::vector<Stored> a, std::vector<Stored> b, const std::vector<Stored>& wanted, Vectors vectors) {
  const Combine add = combine_of({Operation::sum, element}, vectors);
  if (add == nullptr) GTEST_SKIP() << "not by this processor";
  std::vector<Stored> to(wanted.size());
  add(bytes_of_row(a), bytes_of_row(b), bytes_of_row(to), to.size());
  for (std::size_t number = 0; number < to.size(); ++number) EXPECT_EQ(unsigned{to[number]}, unsigned{wanted[number]}) << number;
}

// Half a step more than the largest number is infinity, and less is that number. Ties go to even ones.
TEST_P(EveryVersion, rounds_float16_to_the_nearest) {
  // The sums are 65504 + 16, 65504 + 15.99; 2048 + 1, 2050 + 1, 2048 + 1.001; 2^-24 + 2^-24, 1 + 2^-11, 1 + 2^-11 and a bit.
  expect_sums<std::uint16_t>(Element::float16, {0x7bff, 0x7bff, 0x6800, 0x6801, 0x6800, 0x0001, 0x3c00, 0x3c00},
                             {0x4c00, 0x4bff, 0x3c00, 0x3c00, 0x3c01, 0x0001, 0x1000, 0x1001},
                             {0x7c00, 0x7bff, 0x6800, 0x6802, 0x6801, 0x0002, 0x3c00, 0x3c01}, GetParam());
}
// E4M3 has no infinity. Half a step more than 448 is still 448, which is the even one, and what is larger is no number.
TEST_P(EveryVersion, rounds_float8_to_the_nearest) {
  // The sums are 448 + 16, 448 + 18, -448 - 448; 16 + 1, 18 + 1; 2^-9 + 2^-9; 1 - 1.
  expect_sums<std::uint8_t>(Element::float8_e4m3, {0x7e, 0x7e, 0xfe, 0x58, 0x59, 0x01, 0x38}, {0x58, 0x59, 0xfe, 0x38, 0x38, 0x01, 0xb8},
                            {0x7e, 0x7f, 0xff, 0x58, 0x5a, 0x02, 0x00}, GetParam());
  // The sums are 57344 + 4096, 57344 + 3584, -57344 - 57344; 8 + 1, 10 + 1; 2^-16 + 2^-16.
  expect_sums<std::uint8_t>(Element::float8_e5m2, {0x7b, 0x7b, 0xfb, 0x48, 0x49, 0x01}, {0x6c, 0x6b, 0xfb, 0x3c, 0x3c, 0x01},
                            {0x7c, 0x7b, 0xfc, 0x48, 0x4a, 0x02}, GetParam());
}

// This is C's product of infinities (Annex G), and no sum that is rounded once where it should be twice.
TEST_P(EveryVersion, multiplies_complex_numbers_as_c_does) {
  const Combine combine = combine_of({Operation::product, Element::complex_float64}, GetParam());
  if (combine == nullptr) GTEST_SKIP() << "not by this processor";
  const double infinity = std::numeric_limits<double>::infinity(), third = 1.0 / 3;
  std::complex<double> a[2] = {{infinity, infinity}, {1 + DBL_EPSILON, third}}, b[2] = {{1, 0}, {1 - DBL_EPSILON, -third}}, to[2];
  combine(reinterpret_cast<std::byte*>(a), reinterpret_cast<std::byte*>(b), reinterpret_cast<std::byte*>(to), 2);
  EXPECT_TRUE(std::isinf(to[0].real()) || std::isinf(to[0].imag()));
  const volatile double one = a[1].real() * b[1].real(), other = a[1].imag() * b[1].imag();
  EXPECT_EQ(to[1].real(), one - other);
}

// True is whatever the Fortran compiler writes for it.
TEST_P(EveryVersion, keeps_what_true_is) {
  for (const std::int32_t yes : {1, -1}) {
    std::vector<std::int32_t> a, b, wanted[3];
    for (int number = 0; number < 40; ++number) {
      const bool x = number % 2 != 0, y = number % 3 != 0;
      a.push_back(x ? yes : 0);
      b.push_back(y ? yes : 0);
      wanted[0].push_back(x && y ? yes : 0);
      wanted[1].push_back(x || y ? yes : 0);
      wanted[2].push_back(x != y ? yes : 0);
    }
    for (int number = 0; number < 3; ++number) {
      constexpr Operation kLogical[] = {Operation::logical_and, Operation::logical_or, Operation::logical_xor};
      const Combine combine = combine_of({kLogical[number], Element::truth32}, GetParam());
      if (combine == nullptr) GTEST_SKIP() << "not by this processor";
      std::vector<std::int32_t> to(a.size());
      combine(reinterpret_cast<std::byte*>(a.data()), reinterpret_cast<std::byte*>(b.data()), reinterpret_cast<std::byte*>(to.data()), a.size());
      EXPECT_EQ(to, wanted[number]) << name_of(kLogical[number]);
    }
  }
}

TEST(Copies, copy_what_they_are_told) {
  std::mt19937_64 random(3);
  for (std::size_t bytes = 0; bytes < 5000; bytes += bytes < 300 ? 1 : 97) {
    std::vector<std::byte> from(bytes + 200);
    const std::vector<std::byte> to(bytes + 200, std::byte{0xA5});
    for (std::byte& one : from) one = static_cast<std::byte>(random());
    std::vector<std::byte> expected = to;
    const std::size_t at = random() % 64, other = random() % 64;
    std::memcpy(&expected[64 + at], &from[other], bytes);
    for (const auto copy : {copy_in_cache, copy_past_caches}) {
      std::vector<std::byte> copied = to;
      copy(&copied[64 + at], &from[other], bytes);
      EXPECT_EQ(copied, expected) << bytes;
    }
  }
}

// What is not defined has no loop, whatever C++ could do.
TEST(Combine, knows_what_is_defined) {
  EXPECT_EQ(combine_of({Operation::sum, Element::byte}), nullptr);
  EXPECT_NE(combine_of({Operation::bitwise_xor, Element::byte}), nullptr);
  EXPECT_EQ(combine_of({Operation::maximum, Element::complex_float32}), nullptr);
  EXPECT_EQ(combine_of({Operation::bitwise_or, Element::float32}), nullptr);
  EXPECT_EQ(combine_of({Operation::sum, Element::none}), nullptr);
  EXPECT_EQ(combine_of({Operation::none, Element::int32}), nullptr);
  EXPECT_EQ(bytes_of(Element::placed_float64), 12u);
}

}  // namespace
}  // namespace crossrail::tests
