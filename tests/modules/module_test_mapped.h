// This is memory that a program maps itself, and memory of pools.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include "module_test.h"

namespace module_test {

// This is an entry of the driver, which is loaded already.
#define MODULE_TEST_DRIVER(name) reinterpret_cast<decltype(&name)>(driver_entry(MODULE_TEST_NAME(name)))
#define MODULE_TEST_NAME(name) #name
inline void* driver_entry(const char* name) {
  static void* library = dlopen("libcuda.so.1", RTLD_NOW);
  void* entry = dlsym(library, name);
  require(entry == nullptr ? "not in the driver" : nullptr, name);
  return entry;
}
inline void require(CUresult result, const char* what) { require(result == CUDA_SUCCESS ? nullptr : "the driver refuses", what); }

// Memory of the module's own is for the device that it lies on; here ranks of several devices are in one process.
inline void let_all_devices_reach(const void* memory, int owner) {
  require(cudaSetDevice(owner), "cudaSetDevice");  // The memory is known on its owner's device.
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  if (MODULE_TEST_DRIVER(cuMemGetAddressRange_v2)(&base, &bytes, reinterpret_cast<CUdeviceptr>(memory)) != CUDA_SUCCESS) return;
  for (int device = 0; device < devices; ++device) {
    const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, {device}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    (void)MODULE_TEST_DRIVER(cuMemSetAccess)(base, bytes, &access, 1);  // The driver refuses it for memory of other kinds.
  }
}

// There are `count` chunks, one behind the other.
struct Mapped {
  Mapped(int count, bool shareable) : bytes(static_cast<std::size_t>(count) * kChunk) {
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    if (shareable) properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    require(MODULE_TEST_DRIVER(cuMemAddressReserve)(&base, bytes, 0, 0, 0), "reserve");
    for (int i = 0; i < count; ++i) map(i);
    at = reinterpret_cast<char*>(base);
  }
  ~Mapped() {
    for (std::size_t i = 0; i * kChunk < bytes; ++i) unmap(static_cast<int>(i));
    (void)MODULE_TEST_DRIVER(cuMemAddressFree)(base, bytes);
  }
  Mapped(const Mapped&) = delete;
  void map(int chunk) {
    CUmemGenericAllocationHandle handle{};
    const CUdeviceptr place = base + static_cast<std::size_t>(chunk) * kChunk;
    require(MODULE_TEST_DRIVER(cuMemCreate)(&handle, kChunk, &properties, 0), "create");
    require(MODULE_TEST_DRIVER(cuMemMap)(place, kChunk, 0, handle, 0), "map");
    require(MODULE_TEST_DRIVER(cuMemRelease)(handle), "release");
    CUmemAccessDesc access{};
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    require(MODULE_TEST_DRIVER(cuMemSetAccess)(place, kChunk, &access, 1), "set access");
  }
  void unmap(int chunk) { (void)MODULE_TEST_DRIVER(cuMemUnmap)(base + static_cast<std::size_t>(chunk) * kChunk, kChunk); }

  static constexpr std::size_t kChunk = 2 << 20;
  std::size_t bytes;
  char* at = nullptr;

 private:
  CUmemAllocationProp properties{};
  CUdeviceptr base = 0;
};

// This is one allocation of a pool.
struct Pooled {
  Pooled(std::size_t wanted, bool shareable) {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    if (shareable) properties.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    require(cudaMemPoolCreate(&pool, &properties), "pool");
    allocate(wanted);
  }
  ~Pooled() {
    release();
    (void)cudaMemPoolDestroy(pool);
  }
  Pooled(const Pooled&) = delete;
  void allocate(std::size_t bytes) {
    void* made = nullptr;
    require(cudaMallocFromPoolAsync(&made, bytes, pool, nullptr), "cudaMallocFromPoolAsync");
    require(cudaStreamSynchronize(nullptr), "synchronise");
    at = static_cast<char*>(made);
  }
  void release() {
    (void)cudaFreeAsync(at, nullptr);
    (void)cudaStreamSynchronize(nullptr);
  }
  char* at = nullptr;
  cudaMemPool_t pool = nullptr;
};

}  // namespace module_test
