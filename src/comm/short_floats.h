// Floats of 8 and 16 bits: converts them to floats of 32 bits, and such a float to the nearest of them; of two that are equally near it
// takes the even one. Processors and kernels, which define SHORT_FLOAT_FUNCTION, compile the same text, so they get the same bits.
#pragma once

#include <stdint.h>

#ifndef SHORT_FLOAT_FUNCTION
#define SHORT_FLOAT_FUNCTION [[gnu::always_inline]] inline
#endif

namespace crossrail {

SHORT_FLOAT_FUNCTION uint32_t bits_of_float(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}
SHORT_FLOAT_FUNCTION float float_of_bits(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// Chooses one of two numbers by a mask. If either is a floating-point result, compilers would otherwise make a branch, and would not
// vectorize the loop.
SHORT_FLOAT_FUNCTION uint32_t chosen(bool first, uint32_t one, uint32_t other) {
  const uint32_t mask = 0u - static_cast<uint32_t>(first);
  return (one & mask) | (other & ~mask);
}

constexpr float power_of_two(int exponent) {
  float power = 1;
  for (; exponent > 0; --exponent) power *= 2;
  for (; exponent < 0; ++exponent) power /= 2;
  return power;
}

// A format with this many bits of exponent and fraction below the sign. If it is `kInfinite`, the highest exponent means infinity and NaN,
// as in IEEE 754. Otherwise only its last fraction is special and means NaN (E4M3 of the Open Compute Project's "OCP 8-bit Floating Point
// Specification", 1.0). A value that is too large becomes infinite, or NaN if there is no infinity.
template <int kExponent, int kFraction, bool kInfinite>
struct ShortFloat {
  static constexpr int kBias = (1 << (kExponent - 1)) - 1, kSign = kExponent + kFraction, kShift = 23 - kFraction;
  static constexpr uint32_t kMagnitude = (1u << kSign) - 1;
  static constexpr uint32_t kSpecial = kInfinite ? kMagnitude - ((1u << kFraction) - 1) : kMagnitude;  // It is the first that is not a finite number.
  // It is the difference of the exponents' biases.
  static constexpr uint32_t kStep = 127 - kBias;
  static constexpr float kSmallest = power_of_two(1 - kBias - kFraction);
  // It is so large that a number added to it is rounded to a multiple of kSmallest.
  static constexpr float kRounder = power_of_two(24 - kBias - kFraction);

  // Denormal numbers are not computed as denormal floats, which programs may have told the processor to treat as zero.
  SHORT_FLOAT_FUNCTION static float value(uint32_t bits) {
    const uint32_t magnitude = bits & kMagnitude, sign = bits >> kSign << 31;
    const uint32_t small = bits_of_float(static_cast<float>(static_cast<int32_t>(magnitude)) * kSmallest);
    const uint32_t normal = (magnitude << kShift) + (kStep << 23), special = kInfinite ? magnitude << kShift | 0x7f800000 : 0x7fc00000;
    return float_of_bits(chosen(magnitude < (1u << kFraction), small, chosen(magnitude < kSpecial, normal, special)) | sign);
  }

  SHORT_FLOAT_FUNCTION static uint32_t nearest(float value) {
    const uint32_t bits = bits_of_float(value), magnitude = bits & 0x7fffffff;
    const uint32_t small = bits_of_float(float_of_bits(magnitude) + kRounder) - bits_of_float(kRounder);
    const uint32_t rounded = ((magnitude + (1u << (kShift - 1)) - 1 + (magnitude >> kShift & 1)) >> kShift) - (kStep << kFraction);
    const uint32_t number = chosen(magnitude < (kStep + 1) << 23, small, chosen(rounded < kSpecial, rounded, kSpecial));
    const uint32_t quiet = kInfinite ? 1u << (kFraction - 1) | (magnitude >> kShift & ((1u << kFraction) - 1)) : 0;
    return chosen(magnitude > 0x7f800000, kSpecial | quiet, number) | bits >> 31 << kSign;
  }
};

// It is bfloat16, the upper half of a float.
struct UpperHalf {
  SHORT_FLOAT_FUNCTION static float value(uint32_t bits) { return float_of_bits(bits << 16); }
  SHORT_FLOAT_FUNCTION static uint32_t nearest(float value) {
    const uint32_t bits = bits_of_float(value);
    return chosen((bits & 0x7fffffff) > 0x7f800000, bits >> 16 | 0x40, (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
};

using Binary16 = ShortFloat<5, 10, true>;
using Float8E4M3 = ShortFloat<4, 3, false>;
using Float8E5M2 = ShortFloat<5, 2, true>;

}  // namespace crossrail
