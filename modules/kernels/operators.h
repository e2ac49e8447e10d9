// Two elements become one, 16 bytes of them at a time. This does what src/collectives/combine_elements.h does, to the same bits.
#pragma once

#include "units.h"

#define SHORT_FLOAT_FUNCTION GPU_INLINE
#include "comm/short_floats.h"

namespace kernels {

template <class Type, unsigned kFirst>
GPU_INLINE Type part_of(const Unit& unit) {
  char bytes[sizeof unit];
  __builtin_memcpy(bytes, &unit, sizeof unit);
  Type value;
  __builtin_memcpy(&value, bytes + kFirst, sizeof value);
  return value;
}
template <unsigned kFirst, class Type>
GPU_INLINE void set_part(Unit& unit, Type value) {
  char bytes[sizeof unit];
  __builtin_memcpy(bytes, &unit, sizeof unit);
  __builtin_memcpy(bytes + kFirst, &value, sizeof value);
  __builtin_memcpy(&unit, bytes, sizeof unit);
}

// These are elements in a row of them. An operation's `of` takes what `load` gives.
template <class Type>
struct Plain {
  static constexpr unsigned kBytes = sizeof(Type);
  using Value = Type;
  template <unsigned kFirst>
  static GPU_INLINE Value load(const Unit& unit) {
    return part_of<Type, kFirst>(unit);
  }
  template <unsigned kFirst>
  static GPU_INLINE void store(Unit& unit, Value value) {
    set_part<kFirst>(unit, value);
  }
};

template <class First, class Second>
struct Two {
  First first;
  Second second;
};
template <class First, class Second>
struct Couple {
  static constexpr unsigned kBytes = sizeof(First) + sizeof(Second);
  using Value = Two<First, Second>;
  template <unsigned kFirst>
  static GPU_INLINE Value load(const Unit& unit) {
    return {part_of<First, kFirst>(unit), part_of<Second, kFirst + sizeof(First)>(unit)};
  }
  template <unsigned kFirst>
  static GPU_INLINE void store(Unit& unit, const Value& value) {
    set_part<kFirst>(unit, value.first);
    set_part<kFirst + sizeof(First)>(unit, value.second);
  }
};

// Short floats are taken from one end of a word in turn, and put in at the other. One loop is shorter than a text for each of up to 16 elements.
template <class Type, class Form>
struct Short {};

template <class Operation, class Type, class Form>
GPU_INLINE uint64_t combine_word(uint64_t a, uint64_t b) {
  constexpr unsigned kBits = 8 * sizeof(Type);
#pragma unroll 2
  for (unsigned element = 0; element < sizeof a / sizeof(Type); ++element) {
    const float value = Operation::of(Form::value(static_cast<Type>(a)), Form::value(static_cast<Type>(b)));
    a = a >> kBits | static_cast<uint64_t>(Form::nearest(value)) << (64 - kBits);
    b >>= kBits;
  }
  return a;
}

struct Sum {
  template <class Type>
  static GPU_INLINE Type of(Type a, Type b) {
    return static_cast<Type>(a + b);
  }
};

// These take unsigned integers, which must not become an int on their way.
struct Product {
  static GPU_INLINE uint8_t of(uint8_t a, uint8_t b) { return static_cast<uint8_t>(uint32_t{a} * b); }
  static GPU_INLINE uint16_t of(uint16_t a, uint16_t b) { return static_cast<uint16_t>(uint32_t{a} * b); }
  template <class Type>
  static GPU_INLINE Type of(Type a, Type b) {
    return a * b;
  }
};

struct Quotient {
  template <class Type>
  static GPU_INLINE Type of(Type a, Type b) {
    return static_cast<Type>(a / b);
  }
};

template <class Real>
GPU_INLINE bool is_nan(Real value) {
  return value != value;
}
template <class Real>
GPU_INLINE bool is_infinite(Real value) {
  return !is_nan(value) && is_nan(value - value);
}
template <class Real>
GPU_INLINE Real with_sign(Real value, Real sign) {
  return sizeof(Real) == 4 ? static_cast<Real>(__builtin_copysignf(static_cast<float>(value), static_cast<float>(sign)))
                           : static_cast<Real>(__builtin_copysign(static_cast<double>(value), static_cast<double>(sign)));
}
template <class Real>
GPU_INLINE void zero_nan(Two<Real, Real>& value) {
  if (is_nan(value.first)) value.first = with_sign(Real{0}, value.first);
  if (is_nan(value.second)) value.second = with_sign(Real{0}, value.second);
}
template <class Real>
GPU_INLINE void box_infinity(Two<Real, Real>& value, Two<Real, Real>& other) {
  value = {with_sign(is_infinite(value.first) ? Real{1} : Real{0}, value.first),
           with_sign(is_infinite(value.second) ? Real{1} : Real{0}, value.second)};
  zero_nan(other);
}

// This is C's rule for complex numbers (C17, Annex G.5.1): where both parts would be no numbers, infinities are looked for.
struct ComplexProduct {
  template <class Real>
  static GPU_INLINE Two<Real, Real> of(Two<Real, Real> a, Two<Real, Real> b) {
    const Real ac = a.first * b.first, bd = a.second * b.second, ad = a.first * b.second, bc = a.second * b.first;
    const Two<Real, Real> plain{ac - bd, ad + bc};
    if (!is_nan(plain.first) || !is_nan(plain.second)) return plain;
    bool recovered = false;
    if (is_infinite(a.first) || is_infinite(a.second)) {
      box_infinity(a, b);
      recovered = true;
    }
    if (is_infinite(b.first) || is_infinite(b.second)) {
      box_infinity(b, a);
      recovered = true;
    }
    if (!recovered && (is_infinite(ac) || is_infinite(bd) || is_infinite(ad) || is_infinite(bc))) {
      zero_nan(a);
      zero_nan(b);
      recovered = true;
    }
    if (!recovered) return plain;
    const Real infinity = static_cast<Real>(__builtin_huge_val());
    return {infinity * (a.first * b.first - a.second * b.second), infinity * (a.first * b.second + a.second * b.first)};
  }
};

struct Minimum {
  template <class Type>
  static GPU_INLINE Type of(Type a, Type b) {
    return b < a ? b : a;
  }
};
struct Maximum {
  template <class Type>
  static GPU_INLINE Type of(Type a, Type b) {
    return a < b ? b : a;
  }
};

struct LogicalAnd {
  template <class Type>
  static GPU_INLINE Type of(Type a, Type b) {
    return static_cast<Type>((a != 0) & (b != 0));
  }
};
struct LogicalOr {
  template <class Type>
  static GPU_INLINE Type of(Type a, Type b) {
    return static_cast<Type>((a != 0) | (b != 0));
  }
};
struct LogicalXor {
  template <class Type>
  static GPU_INLINE Type of(Type a, Type b) {
    return static_cast<Type>((a != 0) ^ (b != 0));
  }
};

// These take truth values whose true one a compiler has chosen.
struct TruthAnd {
  template <class Type>
  static GPU_INLINE Type of(Type a, Type b) {
    return a != 0 ? b : a;
  }
};
struct TruthOr {
  template <class Type>
  static GPU_INLINE Type of(Type a, Type b) {
    return a != 0 ? a : b;
  }
};
struct TruthXor {
  template <class Type>
  static GPU_INLINE Type of(Type a, Type b) {
    return a == 0 ? b : b == 0 ? a : Type{0};
  }
};

struct BitwiseAnd {
  template <class Type>
  static GPU_INLINE Type of(Type a, Type b) {
    return static_cast<Type>(a & b);
  }
};
struct BitwiseOr {
  template <class Type>
  static GPU_INLINE Type of(Type a, Type b) {
    return static_cast<Type>(a | b);
  }
};
struct BitwiseXor {
  template <class Type>
  static GPU_INLINE Type of(Type a, Type b) {
    return static_cast<Type>(a ^ b);
  }
};

// If the values are equal, the lower place counts.
template <class Better>
struct Place {
  template <class Number, class Where>
  static GPU_INLINE Two<Number, Where> of(Two<Number, Where> a, Two<Number, Where> b) {
    if (a.first == b.first) return {a.first, Minimum::of(a.second, b.second)};
    return Better::of(a.first, b.first) == b.first ? b : a;
  }
};

template <class Row, class Operation, unsigned kFirst = 0>
GPU_INLINE void combine_from(Unit& a, const Unit& b) {
  Row::template store<kFirst>(a, Operation::of(Row::template load<kFirst>(a), Row::template load<kFirst>(b)));
  if constexpr (kFirst + 2 * Row::kBytes <= sizeof(Unit)) combine_from<Row, Operation, kFirst + Row::kBytes>(a, b);
}

template <class Row, class Operation>
struct UnitOf {
  static GPU_INLINE void combine(Unit& a, const Unit& b) { combine_from<Row, Operation>(a, b); }
};
template <class Type, class Form, class Operation>
struct UnitOf<Short<Type, Form>, Operation> {
  static GPU_INLINE void combine(Unit& a, const Unit& b) {
    a = {combine_word<Operation, Type, Form>(a.low, b.low), combine_word<Operation, Type, Form>(a.high, b.high)};
  }
};

#ifdef GPU_CONVERTS_PAIRS
// 16-bit floats are combined to the same bits as above by instructions for two of them, unless a result is not a number.
struct PairsOfUpperHalves {
  using Form = crossrail::UpperHalf;
  static GPU_INLINE float value(uint32_t bits) { return Form::value(bits); }
  static GPU_INLINE uint32_t nearest(float low, float high) { return gpu::nearest_bfloat16_pair(low, high); }
};
struct PairsOfHalves {
  using Form = crossrail::Binary16;
  static GPU_INLINE float value(uint32_t bits) { return gpu::of_float16(bits); }
  static GPU_INLINE uint32_t nearest(float low, float high) { return gpu::nearest_float16_pair(low, high); }
};
template <class Pairs, class Operation>
GPU_INLINE uint64_t combine_pairs(uint64_t a, uint64_t b) {
  uint64_t results = 0;
  bool numbers = true;
  for (unsigned shift = 0; shift < 64; shift += 32) {
    const auto one = static_cast<uint32_t>(a >> shift), other = static_cast<uint32_t>(b >> shift);
    const float low = Operation::of(Pairs::value(one & 0xffff), Pairs::value(other & 0xffff)), high = Operation::of(Pairs::value(one >> 16), Pairs::value(other >> 16));
    numbers = numbers && !is_nan(low) && !is_nan(high);
    results |= uint64_t{Pairs::nearest(low, high)} << shift;
  }
  return numbers ? results : combine_word<Operation, uint16_t, typename Pairs::Form>(a, b);
}
template <class Operation>
struct UnitOf<Short<uint16_t, crossrail::UpperHalf>, Operation> {
  static GPU_INLINE void combine(Unit& a, const Unit& b) { a = {combine_pairs<PairsOfUpperHalves, Operation>(a.low, b.low), combine_pairs<PairsOfUpperHalves, Operation>(a.high, b.high)}; }
};
template <class Operation>
struct UnitOf<Short<uint16_t, crossrail::Binary16>, Operation> {
  static GPU_INLINE void combine(Unit& a, const Unit& b) { a = {combine_pairs<PairsOfHalves, Operation>(a.low, b.low), combine_pairs<PairsOfHalves, Operation>(a.high, b.high)}; }
};
#endif

// This does a[i] = a[i] op b[i]. All threads take the same way.
template <unsigned kCount>
GPU_INLINE void combine_units(Combination combination, Unit (&a)[kCount], const Unit (&b)[kCount]) {
  switch (combination) {
#define COMBINATION(name, operation, ...)                                            \
  case Combination::name:                                                            \
    _Pragma("unroll") for (unsigned i = 0; i < kCount; ++i) UnitOf<__VA_ARGS__, operation>::combine(a[i], b[i]); \
    return;
#include "combinations.def"
#undef COMBINATION
    case Combination::none: return;
  }
}

}  // namespace kernels
