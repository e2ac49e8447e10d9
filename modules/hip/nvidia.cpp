// This is HIP for NVIDIA's devices, as a test of this module where there is none of AMD's. All calls are inline functions that call CUDA.

#include "gpu.h"

namespace gpu {

Driver open_driver() {
  Driver driver;
#define GPU_FIND(word, symbol, ...) driver.word.at = &symbol;
  GPU_ENTRIES(GPU_FIND)
#undef GPU_FIND
  driver.error_text = &hipGetErrorString;
  driver.device_kind = hipMemoryTypeDevice;
  driver.chunks_known = true;
  driver.complete = true;
  return driver;
}

}  // namespace gpu
