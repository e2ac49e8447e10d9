// This makes HIP's header for NVIDIA's devices, which was written for CUDA 11, go with later versions. It adds what CUDA has dropped since,
// and what HIP 5.2 had for AMD only.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#if CUDART_VERSION >= 13000
struct OldDeviceProperties : cudaDeviceProp {
  int clockRate, memoryClockRate, computeMode, cooperativeMultiDeviceLaunch, kernelExecTimeoutEnabled;
};
inline cudaMemLocation old_location(int device) {
  cudaMemLocation location{};
  location.type = cudaMemLocationTypeDevice;
  location.id = device;
  return location;
}
inline cudaError_t old_advise(const void* at, size_t bytes, cudaMemoryAdvise advice, int device) {
  return cudaMemAdvise(at, bytes, advice, old_location(device));
}
inline cudaError_t old_prefetch(const void* at, size_t bytes, int device, cudaStream_t stream) {
  return cudaMemPrefetchAsync(at, bytes, old_location(device), 0, stream);
}
inline CUresult old_context(CUcontext* context, unsigned flags, CUdevice device) {
  return cuCtxCreate_v4(context, nullptr, flags, device);
}
template <class... Arguments>
cudaError_t dropped(Arguments...) {
  return cudaErrorNotSupported;
}
constexpr auto cudaDevAttrCooperativeMultiDeviceLaunch = static_cast<cudaDeviceAttr>(96);
#undef cuCtxCreate
#define cuCtxCreate old_context
#define cudaMemAdvise old_advise
#define cudaMemPrefetchAsync old_prefetch
#define cudaDeviceProp OldDeviceProperties
#define cudaBindTexture dropped
#define cudaBindTexture2D dropped
#define cudaGetTextureAlignmentOffset dropped
#define cudaLaunchCooperativeKernelMultiDevice dropped
#define cudaGraphAddDependencies dropped
#define cudaGraphRemoveDependencies dropped
#define cudaGraphGetEdges dropped
#define cudaGraphNodeGetDependencies dropped
#define cudaGraphNodeGetDependentNodes dropped
#define cudaStreamGetCaptureInfo dropped
#define cudaStreamGetCaptureInfo_v2 dropped
#define cudaStreamUpdateCaptureDependencies dropped
#if defined(__CUDACC__)
template <class Texel, int dimensions, cudaTextureReadMode mode>
struct texture;
#endif
#endif
#include <hip/hip_runtime_api.h>
#undef cudaMemAdvise
#undef cudaMemPrefetchAsync
#undef cudaDeviceProp

#if HIP_VERSION < 60000000
using hipMemGenericAllocationHandle_t = CUmemGenericAllocationHandle;
#ifndef hipMemLocationTypeDevice
#define hipMemLocationTypeDevice cudaMemLocationTypeDevice
#define hipMemAccessFlagsProtReadWrite cudaMemAccessFlagsProtReadWrite
#define hipMemHandleTypePosixFileDescriptor cudaMemHandleTypePosixFileDescriptor
#endif

inline hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  return hipCUDAErrorTohipError(cudaThreadExchangeStreamCaptureMode(mode));
}
inline hipError_t hipExtMallocWithFlags(void**, size_t, unsigned) { return hipErrorNotSupported; }
inline hipError_t loaded_attribute(int* value, hipFunction_attribute which, hipFunction_t function) {
  (void)cuFuncLoad(function);
  return hipFuncGetAttribute(value, which, function);
}
#define hipFuncGetAttribute loaded_attribute
// HIP 5.2 knows no managed memory of NVIDIA's.
inline hipError_t pointer_attributes_with_managed(hipPointerAttribute_t* told, const void* pointer) {
  cudaPointerAttributes found{};
  if (cudaPointerGetAttributes(&found, pointer) != cudaSuccess) return hipErrorInvalidValue;
  if (found.type != cudaMemoryTypeManaged) return hipPointerGetAttributes(told, pointer);
  *told = {hipMemoryTypeDevice, found.device, found.devicePointer, found.hostPointer, 1, 0};
  return hipSuccess;
}
#define hipPointerGetAttributes pointer_attributes_with_managed

// It is there for nvcc only.
inline hipError_t write_value(hipStream_t stream, void* at, uint64_t value, unsigned flags) {
  return hipCUResultTohipError(cuStreamWriteValue64(stream, reinterpret_cast<CUdeviceptr>(at), value, flags));
}
#define hipStreamWriteValue64 write_value
inline hipError_t stream_is_capturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return hipCUDAErrorTohipError(cudaStreamIsCapturing(stream, status));
}
#define hipStreamIsCapturing stream_is_capturing

inline CUdeviceptr cuda_address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }
inline CUmemLocation cuda_location(const hipMemLocation& from) {
  CUmemLocation location{};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = from.id;
  return location;
}
inline hipError_t hipMemGetAccess(unsigned long long* flags, const hipMemLocation* location, void* at) {
  const CUmemLocation where = cuda_location(*location);
  return hipCUResultTohipError(cuMemGetAccess(flags, &where, cuda_address(at)));
}
inline hipError_t hipMemRetainAllocationHandle(hipMemGenericAllocationHandle_t* chunk, void* at) {
  return hipCUResultTohipError(cuMemRetainAllocationHandle(chunk, at));
}
inline hipError_t hipMemExportToShareableHandle(void* to, hipMemGenericAllocationHandle_t chunk,
                                                hipMemAllocationHandleType, unsigned long long flags) {
  return hipCUResultTohipError(cuMemExportToShareableHandle(to, chunk, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, flags));
}
inline hipError_t hipMemImportFromShareableHandle(hipMemGenericAllocationHandle_t* chunk, void* from, hipMemAllocationHandleType) {
  return hipCUResultTohipError(cuMemImportFromShareableHandle(chunk, from, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
}
inline hipError_t hipMemRelease(hipMemGenericAllocationHandle_t chunk) { return hipCUResultTohipError(cuMemRelease(chunk)); }
inline hipError_t hipMemAddressReserve(void** at, size_t bytes, size_t alignment, void* near, unsigned long long flags) {
  return hipCUResultTohipError(cuMemAddressReserve(reinterpret_cast<CUdeviceptr*>(at), bytes, alignment, cuda_address(near), flags));
}
inline hipError_t hipMemAddressFree(void* at, size_t bytes) {
  return hipCUResultTohipError(cuMemAddressFree(cuda_address(at), bytes));
}
inline hipError_t hipMemMap(void* at, size_t bytes, size_t offset, hipMemGenericAllocationHandle_t chunk, unsigned long long flags) {
  return hipCUResultTohipError(cuMemMap(cuda_address(at), bytes, offset, chunk, flags));
}
inline hipError_t hipMemUnmap(void* at, size_t bytes) { return hipCUResultTohipError(cuMemUnmap(cuda_address(at), bytes)); }
inline hipError_t hipMemSetAccess(void* at, size_t bytes, const hipMemAccessDesc* access, size_t) {
  const CUmemAccessDesc allowed{cuda_location(access->location), CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  return hipCUResultTohipError(cuMemSetAccess(cuda_address(at), bytes, &allowed, 1));
}
#endif
