// A place: one context of one device, with what every queue there needs. Places stay until the
// process ends, as contexts do.
#pragma once

#include <mutex>

#include "crossrail/device_module.h"
#include "gpu.h"

namespace gpu {

enum class Kernel { exchange_few, exchange_many, packets_few, packets_many, barrier_few, barrier_many, pack, persistent, announce };
inline constexpr int kKernelCount = 9;

struct Place {
  Context context = nullptr;
  uint64_t context_id = 0;  // a later context may have the address of an earlier one
  int device = -1;
  int multiprocessors = 0;
  uint64_t identity = 0;
  Stream stream = nullptr;  // for what is waited for at once
  Function kernels[kKernelCount] = {};
  bool kernels_tried = false;
  const char* kernels_wrong = nullptr;
};

// The device's primary context, which stays; null where there is none.
Context primary_context(int device);
// Where work on this memory belongs; NULL and `wrong` when the driver refuses.
Place* place_of(const crossrail_memory& memory, const char** wrong);
// Loads the place's kernels, if that has not been done. The place's context is current.
const char* load_kernels(Place& place);

inline Function kernel_of(const Place& place, Kernel kernel) { return place.kernels[static_cast<int>(kernel)]; }

}  // namespace gpu
