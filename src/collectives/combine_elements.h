// This file says how two elements become one, and how elements lie in a row of bytes.
#pragma once

#include <cmath>
#include <complex>
#include <cstring>
#include <type_traits>

#include "comm/reduction.h"

namespace crossrail::combining {

// A Row is a row of bytes as elements, at any address.
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

#if defined(__x86_64__)
// The processor loads and stores it in 80 bits. Through memory of the compiler's
// own, the processor would wait for each store. The bytes behind are 0.
template <>
struct Row<long double> {
  static constexpr std::size_t kBytes = sizeof(long double);
  using Value = long double;
  struct [[gnu::packed, gnu::may_alias]] AtAnyAddress {
    long double value;
  };
  [[gnu::always_inline]] static inline Value load(const std::byte* at) { return reinterpret_cast<const AtAnyAddress*>(at)->value; }
  [[gnu::always_inline]] static inline void store(std::byte* at, Value value) {
    constexpr std::size_t kValueBytes = 10;
    reinterpret_cast<AtAnyAddress*>(at)->value = value;
    std::memset(at + kValueBytes, 0, kBytes - kValueBytes);
  }
};
#endif

// Complex values are read and written by their parts, which compilers then keep in registers.
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

// Short floats are combined as floats of 32 bits and then rounded.
template <class Stored, class Form>
struct Row<Short<Stored, Form>> {
  static constexpr std::size_t kBytes = sizeof(Stored);
  using Value = float;
  [[gnu::always_inline]] static inline Value load(const std::byte* at) { return Form::value(Row<Stored>::load(at)); }
  [[gnu::always_inline]] static inline void store(std::byte* at, Value value) { Row<Stored>::store(at, static_cast<Stored>(Form::nearest(value))); }
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

// Integers wrap like unsigned ones, instead of being promoted to int.
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
  // By C's rule (Annex G), infinities are recovered if both parts would be NaN.
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

// Among equal values, the lower place counts (MPI 4.1, section 6.9.4).
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

struct average {};  // It takes more than two elements.

}  // namespace crossrail::combining
