// Every loop that combines elements, in every version that this processor runs, is compared with the definition of its operation, an element at a
// time. Rows are at any address, one behind the other or the same, and of any length.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <random>
#include <vector>

#include "collectives/combine.h"

namespace crossrail::tests {
namespace {

constexpr Operation kOperations[] = {
#define OPERATION(name) Operation::name,
#include "comm/reductions.def"
#undef OPERATION
};
constexpr Element kElements[] = {
#define ELEMENT(name, ...) Element::name,
#include "comm/reductions.def"
#undef ELEMENT
};

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

// These are the definitions, written once more, by other means: integers of 128 bits cut to size, plain C++ for the rest.
template <class Type>
Type expected_number(Operation operation, Type a, Type b) {
  if constexpr (std::is_integral_v<Type>) {
    const Wide wide_a = a, wide_b = b;
    switch (operation) {
      case Operation::sum: return static_cast<Type>(wide_a + wide_b);
      case Operation::product: return static_cast<Type>(static_cast<UnsignedWide>(wide_a) * static_cast<UnsignedWide>(wide_b));
      case Operation::logical_and: return a && b ? 1 : 0;
      case Operation::logical_or: return a || b ? 1 : 0;
      case Operation::logical_xor: return !a != !b ? 1 : 0;
      case Operation::bitwise_and: return static_cast<Type>(wide_a & wide_b);
      case Operation::bitwise_or: return static_cast<Type>(wide_a | wide_b);
      case Operation::bitwise_xor: return static_cast<Type>(wide_a ^ wide_b);
      default: break;
    }
  }
  switch (operation) {
    case Operation::sum: return a + b;
    case Operation::product: return a * b;
    case Operation::minimum: return b < a ? b : a;
    case Operation::maximum: return a < b ? b : a;
    default: ADD_FAILURE(); return a;
  }
}

// This defines short floats: so many bits of a fraction, the exponent of the smallest that is not denormal, and the bits of the largest, behind which
// is what larger ones become.
struct Format {
  int sign, fraction, lowest, largest;
};
template <class Form>
constexpr Format kFormat{};
template <>
constexpr Format kFormat<Binary16>{15, 10, -14, 0x7bff};
template <>
constexpr Format kFormat<UpperHalf>{15, 7, -126, 0x7f7f};
template <>
constexpr Format kFormat<Float8E4M3>{7, 3, -6, 0x7e};
template <>
constexpr Format kFormat<Float8E5M2>{7, 2, -14, 0x7b};

double value_of(unsigned bits, const Format& format) {
  const int magnitude = static_cast<int>(bits) & ((1 << format.sign) - 1), exponent = magnitude >> format.fraction, fraction = magnitude & ((1 << format.fraction) - 1);
  const int whole = exponent == 0 ? fraction : fraction + (1 << format.fraction);
  const double value = std::ldexp(whole, std::max(exponent, 1) - 1 + format.lowest - format.fraction);
  return bits >> format.sign != 0 ? -value : value;
}

unsigned nearest_to(double value, const Format& format) {
  const unsigned sign = std::signbit(value) ? 1u << format.sign : 0;
  const int exponent = value == 0 ? format.lowest : std::max(std::ilogb(value), format.lowest);
  const double steps = std::nearbyint(std::ldexp(std::abs(value), format.fraction - exponent));
  const auto magnitude = (exponent - format.lowest) * (1 << format.fraction) + static_cast<int>(steps);
  return sign | static_cast<unsigned>(std::min(magnitude, format.largest + 1));
}

template <class Type>
struct Defined {
  static void combine(Operation operation, const std::byte* a, const std::byte* b, std::byte* to) {
    Type x, y;
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    const Type z = expected_number(operation, x, y);
    std::memcpy(to, &z, sizeof z);
  }
};

template <class Stored, class Form>
struct Defined<Short<Stored, Form>> {
  static void combine(Operation operation, const std::byte* a, const std::byte* b, std::byte* to) {
    Stored x, y;
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    const double z = expected_number(operation, value_of(x, kFormat<Form>), value_of(y, kFormat<Form>));
    const auto bits = static_cast<Stored>(nearest_to(z, kFormat<Form>));
    std::memcpy(to, &bits, sizeof bits);
  }
};

template <class Part>
struct Defined<std::complex<Part>> {
  static void combine(Operation operation, const std::byte* a, const std::byte* b, std::byte* to) {
    Part x[2], y[2];
    std::memcpy(x, a, sizeof x);
    std::memcpy(y, b, sizeof y);
    const Part sum[2] = {x[0] + y[0], x[1] + y[1]};
    volatile Part terms[4] = {x[0] * y[0], x[1] * y[1], x[0] * y[1], x[1] * y[0]};
    const Part product[2] = {terms[0] - terms[1], terms[2] + terms[3]};
    std::memcpy(to, operation == Operation::sum ? sum : product, sizeof sum);
  }
};

template <class Stored>
struct Defined<Truth<Stored>> {
  static void combine(Operation operation, const std::byte* a, const std::byte* b, std::byte* to) {
    Stored x, y;
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    const Stored z = expected_number(operation, static_cast<Stored>(x != 0), static_cast<Stored>(y != 0));
    std::memcpy(to, &z, sizeof z);
  }
};

template <class Number, class Place>
struct Defined<Placed<Number, Place>> {
  static void combine(Operation operation, const std::byte* a, const std::byte* b, std::byte* to) {
    Number x, y;
    Place i, j;
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    std::memcpy(&i, a + sizeof x, sizeof i);
    std::memcpy(&j, b + sizeof x, sizeof j);
    const bool second = operation == Operation::minimum_place ? y < x : x < y;
    const Number z = second ? y : x;
    const Place place = x == y ? std::min(i, j) : second ? j : i;
    std::memcpy(to, &z, sizeof z);
    std::memcpy(to + sizeof z, &place, sizeof place);
  }
};

using Definition = void (*)(Operation, const std::byte*, const std::byte*, std::byte*);
Definition definition_of(Element element) {
  switch (element) {
#define ELEMENT(name, operations, ...) \
  case Element::name: return Defined<__VA_ARGS__>::combine;
#include "comm/reductions.def"
#undef ELEMENT
    default: return nullptr;
  }
}

// Returns random elements that mean something: no padding, no numbers that are none, and equal ones now and then.
template <class Type>
struct Random {
  static void fill(std::byte* at, std::mt19937_64& random) {
    if constexpr (std::is_integral_v<Type>) {
      const auto value = static_cast<Type>(random() % 3 == 0 ? random() % 4 : random());
      std::memcpy(at, &value, sizeof value);
    } else {
      const Type value = (static_cast<Type>(random() % 2001) - 1000) / (1 + static_cast<Type>(random() % 7));
      std::memset(at, 0, sizeof value);
      std::memcpy(at, &value, sizeof(Type) == sizeof(long double) ? 10 : sizeof value);
    }
  }
};
template <class Stored, class Form>
struct Random<Short<Stored, Form>> {
  static void fill(std::byte* at, std::mt19937_64& random) {
    // The numbers have every exponent of a float16, its denormals among them, or, of shorter floats, those that they have.
    const double value = std::ldexp(static_cast<double>(random() % 2049) - 1024, static_cast<int>(random() % 31) - 25);
    const unsigned bits = nearest_to(value, kFormat<Form>), largest = static_cast<unsigned>(kFormat<Form>.largest), sign = 1u << kFormat<Form>.sign;
    const auto stored = static_cast<Stored>((bits & (sign - 1)) > largest ? (bits & sign) | largest : bits);
    std::memcpy(at, &stored, sizeof stored);
  }
};
template <class Part>
struct Random<std::complex<Part>> {
  static void fill(std::byte* at, std::mt19937_64& random) {
    Random<Part>::fill(at, random);
    Random<Part>::fill(at + sizeof(Part), random);
  }
};
template <class Stored>
struct Random<Truth<Stored>> {
  static void fill(std::byte* at, std::mt19937_64& random) {
    const Stored value = random() % 2;
    std::memcpy(at, &value, sizeof value);
  }
};
template <class Number, class Place>
struct Random<Placed<Number, Place>> {
  static void fill(std::byte* at, std::mt19937_64& random) {
    const auto number = static_cast<Number>(static_cast<int>(random() % 5) - 2);
    const auto place = static_cast<Place>(random() % 1000);
    std::memcpy(at, &number, sizeof number);
    if constexpr (sizeof(Number) == 16) std::memset(at + 10, 0, 6);
    std::memcpy(at + sizeof number, &place, sizeof place);
  }
};

void fill(Element element, std::byte* at, std::mt19937_64& random) {
  switch (element) {
#define ELEMENT(name, operations, ...) \
  case Element::name: return Random<__VA_ARGS__>::fill(at, random);
#include "comm/reductions.def"
#undef ELEMENT
    default: break;
  }
}

// The padding of long doubles means nothing.
void forget_padding(Element element, std::vector<std::byte>& row, std::size_t begin) {
  const std::size_t bytes = bytes_of(element);
  const bool of_them = element == Element::long_double || element == Element::complex_long_double || element == Element::placed_long_double;
  if (!of_them) return;
  for (std::size_t at = 0; begin + at < row.size(); ++at) {
    const std::size_t inside = at % bytes;
    if ((inside >= 10 && inside < 16) || (inside >= 26 && inside < 32)) row[begin + at] = {};
  }
}

enum class Where { apart, onto_first, onto_second };

struct Rows {
  Reduction reduction;
  std::size_t count, shift;
  Where where;
};

void check(const Rows& rows, Combine combine, std::mt19937_64& random) {
  const Element element = rows.reduction.element;
  const std::size_t bytes = bytes_of(element), length = rows.count * bytes;
  constexpr std::size_t kGuard = 64;
  std::vector<std::byte> row[3];
  for (std::size_t number = 0; number < 3; ++number) row[number].assign(length + 2 * kGuard + 16, std::byte{0xA5});
  const std::size_t begin[3] = {kGuard + rows.shift, kGuard + rows.shift * 3 % 16, kGuard + rows.shift * 5 % 16};
  for (std::size_t number = 0; number < 2; ++number) {
    for (std::size_t one = 0; one < rows.count; ++one) fill(element, &row[number][begin[number] + one * bytes], random);
  }
  const int to = rows.where == Where::apart ? 2 : rows.where == Where::onto_first ? 0 : 1;
  std::vector<std::byte> expected = row[to];
  for (std::size_t one = 0; one < rows.count; ++one) {
    definition_of(element)(rows.reduction.operation, &row[0][begin[0] + one * bytes], &row[1][begin[1] + one * bytes], &expected[begin[to] + one * bytes]);
  }
  const std::vector<std::byte> first = row[0], second = row[1];
  combine(&row[0][begin[0]], &row[1][begin[1]], &row[to][begin[to]], rows.count);
  forget_padding(element, expected, begin[to]);
  forget_padding(element, row[to], begin[to]);
  EXPECT_EQ(row[to], expected) << name_of(rows.reduction.operation) << " of " << rows.count << ' ' << name_of(element);
  if (to != 0) { EXPECT_EQ(row[0], first); }
  if (to != 1) { EXPECT_EQ(row[1], second); }
}

class EveryLoop : public testing::TestWithParam<Vectors> {};
INSTANTIATE_TEST_SUITE_P(vectors, EveryLoop, testing::ValuesIn(kVectors));

TEST_P(EveryLoop, agrees_with_the_definition) {
  std::mt19937_64 random(1);
  if (combine_of({Operation::sum, Element::int8}, GetParam()) == nullptr) GTEST_SKIP() << "not by this processor";
  for (const Operation operation : kOperations) {
    for (const Element element : kElements) {
      const Combine combine = combine_of({operation, element}, GetParam());
      EXPECT_EQ(combine != nullptr, is_defined({operation, element})) << name_of(operation) << " of " << name_of(element);
      if (combine == nullptr) continue;
      for (std::size_t count = 0; count < 140; count += count < 20 ? 1 : 17) {
        for (const Where where : {Where::apart, Where::onto_first, Where::onto_second}) {
          check({{operation, element}, count, count % 16, where}, combine, random);
        }
      }
    }
  }
}

}  // namespace
}  // namespace crossrail::tests
