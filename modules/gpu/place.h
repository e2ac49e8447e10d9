// A place: one context of one device, with what every queue there needs. Places stay until the
// process ends, as contexts do.
#pragma once

#include <mutex>
#include <vector>

#include "crossrail/device_module.h"
#include "gpu.h"

namespace gpu {

enum class Kernel {
  exchange_few, exchange_many, packets_few, packets_many, barrier_few, barrier_many, move, persistent, announce, combine_few, combine_many, combine_packets,
  meet_many, counted_many, exchange_between, combine_between, lines, combine_lines, counted_between
};
inline constexpr int kKernelCount = 19;

struct Place {
  Context context = nullptr;
  uint64_t generation = 0;
  int device = -1;
  int multiprocessors = 0;
  bool writes_values = false;  // streams do so by themselves
  bool whole_lines = false;    // what eight threads write to other devices at once, 128 bytes, arrives so
  uint64_t identity = 0;
  Stream stream = nullptr;  // for what is waited for at once
  Function kernels[kKernelCount] = {};
  bool kernels_tried = false;
  const char* kernels_wrong = nullptr;
  bool marked = false;       // there are marks; later.cpp's
  Marks marks;
};

// While it lives, the place's context is the thread's; not where that context is gone.
class At {
 public:
  explicit At(const Place& place);
  Result result() const { return gone_ ? kGone : current_.result(); }

 private:
  bool gone_;
  Current current_;
};

// The device's primary context, which stays, else the thread's own there; null where there is none.
Context context_on(int device);
// A context's own number; 0 where it is gone, or its driver gives none.
uint64_t generation_of(Context context);
// Where work on this memory belongs; NULL and `wrong` when the driver refuses.
Place* place_of(const crossrail_memory& memory, const char** wrong);
// Loads the place's kernels, if that has not been done. The place's context is current.
const char* load_kernels(Place& place);

inline Function kernel_of(const Place& place, Kernel kernel) { return place.kernels[static_cast<int>(kernel)]; }

}  // namespace gpu
