// Two elements become one: what an operation does, and how elements lie in a row of bytes.
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <type_traits>

#include "comm/reduction.h"

namespace crossrail::combining {

// A row of bytes as elements, at any address.
template <class Type>
struct Row {
  static constexpr std::size_t kBytes = sizeof(Type);
  using Value = Type;
  [[gnu::always_inline]] static inline Value load(const std::byte* at) {
    Value value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  [[gnu::always_inline]] static inline void store(std::byte* at, const Value& value) { std::memcpy(at, &value, sizeof value); }
};

// By their parts, which compilers then keep in registers.
template <class Part>
struct Row<std::complex<Part>> {
  static constexpr std::size_t kBytes = 2 * sizeof(Part);
  using Value = std::complex<Part>;
  [[gnu::always_inline]] static inline Value load(const std::byte* at) {
    return {Row<Part>::load(at), Row<Part>::load(at + sizeof(Part))};
  }
  [[gnu::always_inline]] static inline void store(std::byte* at, const Value& value) {
    Row<Part>::store(at, value.real());
    Row<Part>::store(at + sizeof(Part), value.imag());
  }
};

// One of two numbers by a mask: where either is a floating-point result, compilers would otherwise make a branch, and the loop no vectors.
[[gnu::always_inline]] inline std::uint32_t chosen(bool first, std::uint32_t one, std::uint32_t other) {
  const std::uint32_t mask = 0u - static_cast<std::uint32_t>(first);
  return (one & mask) | (other & ~mask);
}

// 16-bit floats are combined as floats and rounded to the nearest, of two to the even one: the same bits on processors that can do it by an
// instruction and on others. Denormal float16 are no denormal floats on their way, which programs may have told the processor to take for
// zero.
template <>
struct Row<Float16> {
  static constexpr std::size_t kBytes = sizeof(Float16);
  using Value = float;
  [[gnu::always_inline]] static inline Value load(const std::byte* at) {
    const std::uint32_t bits = Row<std::uint16_t>::load(at), magnitude = bits & 0x7fff;
    const std::uint32_t small = std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f);
    const std::uint32_t normal = (magnitude << 13) + (112u << 23), special = magnitude << 13 | 0x7f800000;
    const std::uint32_t whole = chosen(magnitude < 0x400, small, chosen(magnitude < 0x7c00, normal, special));
    return std::bit_cast<float>(whole | (bits & 0x8000) << 16);
  }
  [[gnu::always_inline]] static inline void store(std::byte* at, Value value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value), magnitude = bits & 0x7fffffff;
    // 0.5 is so large that what is added rounds to whole 2^-24.
    const std::uint32_t small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - std::bit_cast<std::uint32_t>(0.5f);
    const std::uint32_t rounded = ((magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13) - (112u << 10);
    const std::uint32_t number = chosen(magnitude < 0x38800000, small, chosen(rounded < 0x7c00, rounded, 0x7c00));
    const std::uint32_t whole = chosen(magnitude > 0x7f800000, 0x7e00 | (magnitude >> 13 & 0x3ff), number);
    Row<std::uint16_t>::store(at, static_cast<std::uint16_t>(whole | (bits >> 16 & 0x8000)));
  }
};

template <>
struct Row<BFloat16> {
  static constexpr std::size_t kBytes = sizeof(BFloat16);
  using Value = float;
  [[gnu::always_inline]] static inline Value load(const std::byte* at) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(Row<std::uint16_t>::load(at)) << 16);
  }
  [[gnu::always_inline]] static inline void store(std::byte* at, Value value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t number = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, none = bits >> 16 | 0x40;
    Row<std::uint16_t>::store(at, static_cast<std::uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? none : number));
  }
};

template <class Number, class Place>
struct ValueAndPlace {
  Number number;
  Place place;
};

template <class Number, class Place>
struct Row<Placed<Number, Place>> {
  static constexpr std::size_t kBytes = sizeof(Number) + sizeof(Place);
  using Value = ValueAndPlace<Number, Place>;
  [[gnu::always_inline]] static inline Value load(const std::byte* at) {
    return {Row<Number>::load(at), Row<Place>::load(at + sizeof(Number))};
  }
  [[gnu::always_inline]] static inline void store(std::byte* at, const Value& value) {
    Row<Number>::store(at, value.number);
    Row<Place>::store(at + sizeof(Number), value.place);
  }
};

// Integers wrap: as unsigned ones, and not as the int to which short ones are promoted.
template <class Type>
constexpr auto wrapping(Type value) {
  if constexpr (std::is_integral_v<Type>) {
    return static_cast<std::conditional_t<sizeof(Type) < sizeof(unsigned), unsigned, std::make_unsigned_t<Type>>>(value);
  } else {
    return value;
  }
}

struct sum {
  template <class Type>
  [[gnu::always_inline]] static inline Type of(Type a, Type b) {
    return static_cast<Type>(wrapping(a) + wrapping(b));
  }
  template <class Part>
  [[gnu::always_inline]] static inline std::complex<Part> of(std::complex<Part> a, std::complex<Part> b) {
    return {a.real() + b.real(), a.imag() + b.imag()};
  }
};

struct product {
  template <class Type>
  [[gnu::always_inline]] static inline Type of(Type a, Type b) {
    return static_cast<Type>(wrapping(a) * wrapping(b));
  }
  // C's rule (Annex G): where both parts would be no numbers, infinities are looked for.
  template <class Part>
  [[gnu::always_inline]] static inline std::complex<Part> of(std::complex<Part> a, std::complex<Part> b) {
    return a * b;
  }
};

struct minimum {
  template <class Type>
  [[gnu::always_inline]] static inline Type of(Type a, Type b) {
    return b < a ? b : a;
  }
};

struct maximum {
  template <class Type>
  [[gnu::always_inline]] static inline Type of(Type a, Type b) {
    return a < b ? b : a;
  }
};

struct logical_and {
  template <class Type>
  [[gnu::always_inline]] static inline Type of(Type a, Type b) {
    return static_cast<Type>((a != 0) & (b != 0));
  }
  template <class Stored>
  [[gnu::always_inline]] static inline Truth<Stored> of(Truth<Stored> a, Truth<Stored> b) {
    return a.stored != 0 ? b : a;
  }
};

struct logical_or {
  template <class Type>
  [[gnu::always_inline]] static inline Type of(Type a, Type b) {
    return static_cast<Type>((a != 0) | (b != 0));
  }
  template <class Stored>
  [[gnu::always_inline]] static inline Truth<Stored> of(Truth<Stored> a, Truth<Stored> b) {
    return a.stored != 0 ? a : b;
  }
};

struct logical_xor {
  template <class Type>
  [[gnu::always_inline]] static inline Type of(Type a, Type b) {
    return static_cast<Type>((a != 0) ^ (b != 0));
  }
  template <class Stored>
  [[gnu::always_inline]] static inline Truth<Stored> of(Truth<Stored> a, Truth<Stored> b) {
    return a.stored == 0 ? b : b.stored == 0 ? a : Truth<Stored>{0};
  }
};

struct bitwise_and {
  template <class Type>
  [[gnu::always_inline]] static inline Type of(Type a, Type b) {
    return static_cast<Type>(a & b);
  }
};

struct bitwise_or {
  template <class Type>
  [[gnu::always_inline]] static inline Type of(Type a, Type b) {
    return static_cast<Type>(a | b);
  }
};

struct bitwise_xor {
  template <class Type>
  [[gnu::always_inline]] static inline Type of(Type a, Type b) {
    return static_cast<Type>(a ^ b);
  }
};

// Of equal values the lower place counts (MPI 4.1, section 6.9.4).
struct minimum_place {
  template <class Type>
  [[gnu::always_inline]] static inline Type of(Type a, Type b) {
    if (a.number == b.number) return {a.number, minimum::of(a.place, b.place)};
    return b.number < a.number ? b : a;
  }
};

struct maximum_place {
  template <class Type>
  [[gnu::always_inline]] static inline Type of(Type a, Type b) {
    if (a.number == b.number) return {a.number, minimum::of(a.place, b.place)};
    return a.number < b.number ? b : a;
  }
};

}  // namespace crossrail::combining
