// Tests on device memory ask this: whether an MPS server stands between the processes and a device, so that their kernels run at the same time.
#pragma once

#include <cuda_runtime_api.h>

namespace device_test {

inline bool mps_is_on(int device) {
  constexpr auto kMpsEnabled = static_cast<cudaDeviceAttr>(133);  // It is there from CUDA 12.5 on.
  int enabled = 0;
  if (cudaDeviceGetAttribute(&enabled, kMpsEnabled, device) != cudaSuccess) (void)cudaGetLastError();
  return enabled != 0;
}

}  // namespace device_test
