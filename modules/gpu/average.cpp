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
Scaling divided(Combination quotient, int ranks) {
  return scaling_with(Combination::none, quotient, static_cast<Type>(ranks));
}
template <class Type>
Scaling multiplied(Combination product, Type by) {
  return scaling_with(product, Combination::none, by);
}

template <class Form>
uint32_t reciprocal(int ranks) {
  return Form::nearest(1.0F / static_cast<float>(ranks));
}

}  // namespace

Scaling scaling_of(const crossrail_packets& packets) {
  const int ranks = packets.ranks;
  if (packets.reduction.operation != static_cast<int>(crossrail::Operation::average)) return {};
  switch (static_cast<Averaged>(packets.reduction.element)) {
    case Averaged::int8: return divided<int8_t>(Combination::quotient_int8, ranks);
    case Averaged::int16: return divided<int16_t>(Combination::quotient_int16, ranks);
    case Averaged::int32: return divided<int32_t>(Combination::quotient_int32, ranks);
    case Averaged::int64: return divided<int64_t>(Combination::quotient_int64, ranks);
    case Averaged::uint8: return divided<uint8_t>(Combination::quotient_uint8, ranks);
    case Averaged::uint16: return divided<uint16_t>(Combination::quotient_uint16, ranks);
    case Averaged::uint32: return divided<uint32_t>(Combination::quotient_uint32, ranks);
    case Averaged::uint64: return divided<uint64_t>(Combination::quotient_uint64, ranks);
    case Averaged::float32: return multiplied(Combination::product_float32, 1.0F / static_cast<float>(ranks));
    case Averaged::float64: return multiplied(Combination::product_float64, 1.0 / ranks);
    case Averaged::float16: return multiplied(Combination::product_float16, static_cast<uint16_t>(reciprocal<crossrail::Binary16>(ranks)));
    case Averaged::bfloat16: return multiplied(Combination::product_bfloat16, static_cast<uint16_t>(reciprocal<crossrail::UpperHalf>(ranks)));
    case Averaged::float8_e4m3: return multiplied(Combination::product_float8_e4m3, static_cast<uint8_t>(reciprocal<crossrail::Float8E4M3>(ranks)));
    case Averaged::float8_e5m2: return multiplied(Combination::product_float8_e5m2, static_cast<uint8_t>(reciprocal<crossrail::Float8E5M2>(ranks)));
    default: return {};
  }
}

}  // namespace gpu
