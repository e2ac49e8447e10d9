// Rows of elements that become one: what src/collectives/combine.h has, and averages.
#pragma once

#include <cstring>
#include <vector>

#include "collectives/combine.h"
#include "crossrail/device_module.h"

namespace crossrail::virtual_world {

class Combined {
 public:
  Combined(const Reduction& asked, int rows, std::size_t bytes) : asked_(asked), averages_(asked.operation == Operation::average), rows_(rows), sum_(bytes) {}

  // The rows come in their order.
  void add(const std::byte* from) {
    std::vector<std::byte> row(from, from + sum_.size());
    if (averages_) scale(row);
    const Reduction reduction{averages_ ? Operation::sum : asked_.operation, asked_.element};
    if (added_++ == 0) sum_ = row;
    else combine_of(reduction)(sum_.data(), row.data(), sum_.data(), sum_.size() / bytes_of(asked_.element));
    if (averages_ && added_ == rows_) divide(sum_);
  }
  const std::vector<std::byte>& result() const { return sum_; }

 private:
  // Multiplies real numbers by the reciprocal of the number of rows.
  void scale(std::vector<std::byte>& row) const {
    const float reciprocal = 1.0F / static_cast<float>(rows_);
    switch (asked_.element) {
      case Element::float32: return multiply(row, reciprocal);
      case Element::float64: return multiply(row, 1.0 / rows_);
      case Element::float16: return multiply(row, static_cast<std::uint16_t>(Binary16::nearest(reciprocal)));
      case Element::bfloat16: return multiply(row, static_cast<std::uint16_t>(UpperHalf::nearest(reciprocal)));
      case Element::float8_e4m3: return multiply(row, static_cast<std::uint8_t>(Float8E4M3::nearest(reciprocal)));
      case Element::float8_e5m2: return multiply(row, static_cast<std::uint8_t>(Float8E5M2::nearest(reciprocal)));
      default: return;
    }
  }

  // Divides sums of integers by the number of rows.
  void divide(std::vector<std::byte>& sum) const {
    switch (asked_.element) {
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

  template <class Type>
  void multiply(std::vector<std::byte>& row, Type by) const {
    const std::vector<Type> factors(row.size() / sizeof by, by);
    combine_of({Operation::product, asked_.element})(row.data(), reinterpret_cast<const std::byte*>(factors.data()), row.data(), factors.size());
  }
  template <class Type>
  void divide_all(std::vector<std::byte>& sum) const {
    for (std::size_t at = 0; at < sum.size(); at += sizeof(Type)) {
      Type value;
      std::memcpy(&value, sum.data() + at, sizeof value);
      value = static_cast<Type>(value / static_cast<Type>(rows_));
      std::memcpy(sum.data() + at, &value, sizeof value);
    }
  }

  Reduction asked_;
  bool averages_;
  int rows_, added_ = 0;
  std::vector<std::byte> sum_;
};

}  // namespace crossrail::virtual_world
