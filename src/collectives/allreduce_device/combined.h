// Allreduces on device memory share this code. All of them combine in the order
// of the ranks, so every algorithm and every rank comes to the same bits.
#pragma once

#include <span>
#include <vector>

#include "collectives/device_rounds.h"

namespace crossrail::allreduce_device {

inline crossrail_reduction reduction_of(const Plan& plan) {
  return {static_cast<int>(plan.shape.reduction.operation), static_cast<int>(plan.shape.reduction.element)};
}

// A Share is one combination. It says where the rows that it reads and writes begin.
struct Share {
  const void** from;
  void** to;
};

// Shares holds the combinations of a round, at most one for every rank for which this one launches.
class Shares {
 public:
  explicit Shares(const Plan& plan) : Shares(plan.device_blocks.launched.size()) {}
  explicit Shares(std::size_t most) : all_(most), from_(all_.size() * CROSSRAIL_MOST_OPERANDS), to_(from_.size()) {}
  void clear() { count_ = 0; }
  struct Rows {
    int from, to;
  };
  // The caller fills in the rows.
  Share add(const Plan& plan, const Rows& rows, std::size_t bytes) {
    const Share share{from_.data() + count_ * CROSSRAIL_MOST_OPERANDS, to_.data() + count_ * CROSSRAIL_MOST_OPERANDS};
    crossrail_combination& combination = all_[count_++] = {};
    combination.reduction = reduction_of(plan);
    combination.from = share.from;
    combination.to = share.to;
    combination.from_count = rows.from;
    combination.to_count = rows.to;
    combination.turn = plan.group.index();
    combination.bytes = bytes;
    return share;
  }
  // Lengthens the combination that was added last by so many bytes, which follow in all its rows.
  void extend(std::size_t bytes) { all_[count_ - 1].bytes += bytes; }
  std::span<crossrail_combination> all() { return {all_.data(), count_}; }

 private:
  std::vector<crossrail_combination> all_;
  std::vector<const void*> from_;
  std::vector<void*> to_;
  std::size_t count_ = 0;
};

// No device has the processors' long double.
inline bool known_to_devices(const Reduction& reduction) {
  const Element element = reduction.element;
  const bool longer = element == Element::long_double || element == Element::complex_long_double || element == Element::placed_long_double;
  const bool average = reduction.operation == Operation::average && has_average(element);
  return (is_defined(reduction) || average) && !longer;
}
inline constexpr const char* kKnownToDevices = "an operation and elements that devices support";

static_assert(CROSSRAIL_MOST_OPERANDS == 128);
inline Fit fit_combining(const Topology& topology, const Shape& shape) {
  return fit_devices(topology).needs(topology.size <= CROSSRAIL_MOST_OPERANDS, "at most 128 ranks").needs(known_to_devices(shape.reduction), kKnownToDevices);
}

inline constexpr const char* kNoKernels = "the device module has no kernels for such elements";
// This rank's module may have no kernels.
inline Status has_kernels(const Plan& plan) {
  return plan.devices->queue().combines(reduction_of(plan)) ? Status{} : failed(Code::unsupported, kNoKernels);
}

}  // namespace crossrail::allreduce_device
