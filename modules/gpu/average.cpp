// An average of integers is their sum, divided by their number. Real numbers are multiplied by the reciprocal of their number, rounded to their format,
// before they are added: so NCCL does it.

#include <cstring>

#include "comm/reduction.h"
#include "queue.h"

namespace gpu {
namespace {

using Averaged = crossrail::Element;
using kernels::Combination;
using kernels::Scaling;

// The unit is full of the number.
template <class Type>
Scaling scaling_with(Combination before, Combination after, Type number) {
  Scaling scaling{before, after, {}};
  for (size_t at = 0; at < sizeof scaling.by; at += sizeof number) std::memcpy(reinterpret_cast<char*>(scaling.by) + at, &number, sizeof number);
  return scaling;
}
template <class Type>
Scaling divided(Combination quotient, int elements) {
  return scaling_with(Combination::none, quotient, static_cast<Type>(elements));
}
template <class Type>
Scaling multiplied(Combination product, Type by) {
  return scaling_with(product, Combination::none, by);
}

template <class Form>
uint32_t reciprocal(int elements) {
  return Form::nearest(1.0F / static_cast<float>(elements));
}

}  // namespace

Scaling scaling_of(const crossrail_reduction& reduction, int elements) {
  if (reduction.operation != static_cast<int>(crossrail::Operation::average)) return {};
  switch (static_cast<Averaged>(reduction.element)) {
    case Averaged::int8: return divided<int8_t>(Combination::quotient_int8, elements);
    case Averaged::int16: return divided<int16_t>(Combination::quotient_int16, elements);
    case Averaged::int32: return divided<int32_t>(Combination::quotient_int32, elements);
    case Averaged::int64: return divided<int64_t>(Combination::quotient_int64, elements);
    case Averaged::uint8: return divided<uint8_t>(Combination::quotient_uint8, elements);
    case Averaged::uint16: return divided<uint16_t>(Combination::quotient_uint16, elements);
    case Averaged::uint32: return divided<uint32_t>(Combination::quotient_uint32, elements);
    case Averaged::uint64: return divided<uint64_t>(Combination::quotient_uint64, elements);
    case Averaged::float32: return multiplied(Combination::product_float32, 1.0F / static_cast<float>(elements));
    case Averaged::float64: return multiplied(Combination::product_float64, 1.0 / elements);
    case Averaged::float16: return multiplied(Combination::product_float16, static_cast<uint16_t>(reciprocal<crossrail::Binary16>(elements)));
    case Averaged::bfloat16: return multiplied(Combination::product_bfloat16, static_cast<uint16_t>(reciprocal<crossrail::UpperHalf>(elements)));
    case Averaged::float8_e4m3: return multiplied(Combination::product_float8_e4m3, static_cast<uint8_t>(reciprocal<crossrail::Float8E4M3>(elements)));
    case Averaged::float8_e5m2: return multiplied(Combination::product_float8_e5m2, static_cast<uint8_t>(reciprocal<crossrail::Float8E5M2>(elements)));
    default: return {};
  }
}

}  // namespace gpu
