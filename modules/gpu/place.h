// A place is one context of one device, with what every queue there needs. Places stay until the process ends, as contexts do.
#pragma once

#include <mutex>
#include <vector>

#include "crossrail/device_module.h"
#include "gpu.h"

namespace gpu {

enum class Kernel {
  exchange_few, exchange_many, packets_few, packets_many, barrier_few, barrier_many, move, persistent, announce, combine_few, combine_many, combine_packets,
  meet_many, counted_many, exchange_between, combine_between, lines, combine_lines, counted_between, exchange_chunks, combine_chunks,
  messages, keep_list
};
inline constexpr int kKernelCount = 23;

struct Place {
  Context context = nullptr;
  uint64_t generation = 0;
  int device = -1;
  int multiprocessors = 0;
  bool writes_values = false;  // Streams do so by themselves.
  bool whole_lines = false;    // The 128 bytes that eight threads write to other devices at once arrive at once.
  uint64_t identity = 0;
  Stream stream = nullptr;  // It is for what is waited for at once.
  Function kernels[kKernelCount] = {};
  bool kernels_tried = false;
  const char* kernels_wrong = nullptr;
  bool marked = false;       // There are marks, which later.cpp uses.
  Marks marks;
};

// While it lives, the place's context is the thread's, unless that context is gone.
class At {
 public:
  explicit At(const Place& place);
  Result result() const { return gone_ ? kGone : current_.result(); }

 private:
  bool gone_;
  Current current_;
};

// Returns the device's primary context, which stays, else the thread's own there. It is null if there is none.
Context context_on(int device);
// Returns a context's own number. It is 0 if the context is gone or its driver gives none.
uint64_t generation_of(Context context);
// Returns where work on this memory belongs. It is NULL, with `wrong` set, if the driver refuses.
Place* place_of(const crossrail_memory& memory, const char** wrong);
// Loads the place's kernels, if that has not been done. The place's context is current.
const char* load_kernels(Place& place);

inline Function kernel_of(const Place& place, Kernel kernel) { return place.kernels[static_cast<int>(kernel)]; }

}  // namespace gpu
