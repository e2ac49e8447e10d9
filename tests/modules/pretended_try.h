// What a module's code does with the results of a pretended driver. The header that pretends it, gpu.h, includes this one.
#pragma once

namespace gpu {

inline const char* text(Result result) { return result == kSuccess ? nullptr : "it does not work"; }

#define GPU_TRY(call)                                                                     \
  do {                                                                                    \
    if (const gpu::Result tried = (call); tried != gpu::kSuccess) return gpu::text(tried); \
  } while (0)

}  // namespace gpu
