// What allreduces on device memory share. All combine in the order of the ranks: every algorithm comes to the same bits, and
// so do all ranks.
#pragma once

#include "collectives/device_rounds.h"

namespace crossrail::allreduce_device {

inline crossrail_reduction reduction_of(const Plan& plan) {
  return {static_cast<int>(plan.shape.reduction.operation), static_cast<int>(plan.shape.reduction.element)};
}

// No device has the processors' long double, and kernels of ours no 16-bit floats.
inline bool known_to_devices(const Reduction& reduction) {
  const Element element = reduction.element;
  const bool longer = element == Element::long_double || element == Element::complex_long_double || element == Element::placed_long_double;
  const bool shorter = element == Element::float16 || element == Element::bfloat16;
  return is_defined(reduction) && !longer && !shorter;
}

// This rank's module may be without kernels.
inline Status has_kernels(const Plan& plan) {
  const crossrail_device_module& module = plan.devices->queue().module();
  const crossrail_reduction reduction = reduction_of(plan);
  const bool there = module.combines != nullptr && module.combine != nullptr && module.combine_packets != nullptr && module.combines(&reduction) != 0;
  return there ? Status{} : failed(Code::unsupported, "the device module has no kernels for such elements");
}

}  // namespace crossrail::allreduce_device
