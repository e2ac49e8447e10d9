// Averages of the ranks' elements, as crossrail_packets knows them.
#pragma once

#include <cstring>
#include <vector>

#include "collectives/combine.h"
#include "crossrail/device_module.h"

namespace crossrail::virtual_world {

class Average {
 public:
  explicit Average(const crossrail_packets& packets)
      : asked_(static_cast<Operation>(packets.reduction.operation) == Operation::average), element_(static_cast<Element>(packets.reduction.element)), ranks_(packets.ranks) {}
  bool asked() const { return asked_; }

  // Multiplies real numbers by the reciprocal of the number of ranks.
  void scale(std::vector<std::byte>& row) const {
    if (!asked_) return;
    const float reciprocal = 1.0F / static_cast<float>(ranks_);
    switch (element_) {
      case Element::float32: return multiply(row, reciprocal);
      case Element::float64: return multiply(row, 1.0 / ranks_);
      case Element::float16: return multiply(row, static_cast<std::uint16_t>(Binary16::nearest(reciprocal)));
      case Element::bfloat16: return multiply(row, static_cast<std::uint16_t>(UpperHalf::nearest(reciprocal)));
      case Element::float8_e4m3: return multiply(row, static_cast<std::uint8_t>(Float8E4M3::nearest(reciprocal)));
      case Element::float8_e5m2: return multiply(row, static_cast<std::uint8_t>(Float8E5M2::nearest(reciprocal)));
      default: return;
    }
  }

  // Divides sums of integers by the number of ranks.
  void divide(std::vector<std::byte>& sum) const {
    if (!asked_) return;
    switch (element_) {
      case Element::int8: return divide_all<std::int8_t>(sum);
      case Element::int16: return divide_all<std::int16_t>(sum);
      case Element::int32: return divide_all<std::int32_t>(sum);
      case Element::int64: return divide_all<std::int64_t>(sum);
      case Element::uint8: return divide_all<std::uint8_t>(sum);
      case Element::uint16: return divide_all<std::uint16_t>(sum);
      case Element::uint32: return divide_all<std::uint32_t>(sum);
      case Element::uint64: return divide_all<std::uint64_t>(sum);
      default: return;
    }
  }

 private:
  template <class Type>
  void multiply(std::vector<std::byte>& row, Type by) const {
    const std::vector<Type> factors(row.size() / sizeof by, by);
    combine_of({Operation::product, element_})(row.data(), reinterpret_cast<const std::byte*>(factors.data()), row.data(), factors.size());
  }
  template <class Type>
  void divide_all(std::vector<std::byte>& sum) const {
    for (std::size_t at = 0; at < sum.size(); at += sizeof(Type)) {
      Type value;
      std::memcpy(&value, sum.data() + at, sizeof value);
      value = static_cast<Type>(value / static_cast<Type>(ranks_));
      std::memcpy(sum.data() + at, &value, sizeof value);
    }
  }

  bool asked_;
  Element element_;
  int ranks_;
};

}  // namespace crossrail::virtual_world
