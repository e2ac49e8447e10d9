// This data says by itself that it has come: each 64-bit word is half data, half a number.
#pragma once

#include "gpu_device.h"
#include "tasks.h"

namespace kernels {

GPU_INLINE gpu::Pair stamp(uint64_t data, uint32_t number) {
  const uint64_t high = uint64_t{number} << 32;
  return {high | (data & 0xffffffffu), high | data >> 32};
}
GPU_INLINE bool stamped(const gpu::Pair& pair, uint32_t number) {
  return static_cast<uint32_t>(pair.low >> 32) == number && static_cast<uint32_t>(pair.high >> 32) == number;
}
GPU_INLINE uint64_t data_of(const gpu::Pair& pair) { return (pair.low & 0xffffffffu) | pair.high << 32; }

}  // namespace kernels
