// The CUDA module: the driver API, resolved from the driver that the process has loaded.

#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <type_traits>

#include "crossrail/device_module.h"

namespace {

struct Driver {
  decltype(&cuPointerGetAttributes) pointer_attributes = nullptr;
  decltype(&cuCtxGetCurrent) current = nullptr;
  decltype(&cuCtxPushCurrent) push = nullptr;
  decltype(&cuCtxPopCurrent) pop = nullptr;
  decltype(&cuStreamCreate) create_stream = nullptr;
  decltype(&cuMemcpyAsync) copy = nullptr;
  decltype(&cuStreamSynchronize) synchronize = nullptr;
  decltype(&cuGetErrorString) error_string = nullptr;
  bool complete = false;
};

Driver open_driver() {
  Driver driver;
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return driver;
  bool complete = true;
  const auto find = [&](auto& entry, const char* name) {
    entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(dlsym(library, name));
    complete = complete && entry != nullptr;
  };
  find(driver.pointer_attributes, "cuPointerGetAttributes");
  find(driver.current, "cuCtxGetCurrent");
  find(driver.push, "cuCtxPushCurrent_v2");
  find(driver.pop, "cuCtxPopCurrent_v2");
  find(driver.create_stream, "cuStreamCreate");
  find(driver.copy, "cuMemcpyAsync");
  find(driver.synchronize, "cuStreamSynchronize");
  find(driver.error_string, "cuGetErrorString");
  driver.complete = complete;
  return driver;
}

const Driver& driver() {
  static const Driver opened = open_driver();
  return opened;
}

struct PointerFacts {
  unsigned int type = 0;  // CUmemorytype, 0 if the driver does not know the pointer
  unsigned int managed = 0;
  CUcontext context = nullptr;
};

PointerFacts facts_of(const void* pointer) {
  PointerFacts facts;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                  CU_POINTER_ATTRIBUTE_CONTEXT};
  void* values[] = {&facts.type, &facts.managed, &facts.context};
  if (driver().pointer_attributes(3, wanted, values, reinterpret_cast<CUdeviceptr>(pointer)) != CUDA_SUCCESS) return {};
  return facts;
}

const char* text_of(CUresult result) {
  const char* text = "unknown error of the CUDA driver";
  (void)driver().error_string(result, &text);
  return text;
}

crossrail_memory_kind classify(const void* pointer) {
  const PointerFacts facts = facts_of(pointer);
  if (facts.managed != 0) return CROSSRAIL_MEMORY_MANAGED;
  return facts.type == CU_MEMORYTYPE_DEVICE ? CROSSRAIL_MEMORY_DEVICE : CROSSRAIL_MEMORY_HOST;
}

// A stream of our own in the pointer's context: the program's streams are not waited for.
struct ThreadStream {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
};

const char* copy_in(CUcontext context, void* to, const void* from, size_t bytes) {
  static thread_local ThreadStream own;
  if (own.context != context || own.stream == nullptr) {
    const CUresult created = driver().create_stream(&own.stream, CU_STREAM_NON_BLOCKING);
    if (created != CUDA_SUCCESS) return text_of(created);
    own.context = context;
  }
  CUresult result = driver().copy(reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(from), bytes, own.stream);
  if (result == CUDA_SUCCESS) result = driver().synchronize(own.stream);
  return result == CUDA_SUCCESS ? nullptr : text_of(result);
}

const char* copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return nullptr;
  PointerFacts facts = facts_of(to);
  if (facts.type != CU_MEMORYTYPE_DEVICE) facts = facts_of(from);
  if (facts.type != CU_MEMORYTYPE_DEVICE) {
    std::memcpy(to, from, bytes);
    return nullptr;
  }
  CUcontext context = facts.context;
  // Memory of pools and of the virtual memory API names no context: the thread's own will do.
  if (context == nullptr) (void)driver().current(&context);
  if (context == nullptr) return "device memory without a context in this thread";
  if (const CUresult pushed = driver().push(context); pushed != CUDA_SUCCESS) return text_of(pushed);
  const char* wrong = copy_in(context, to, from, bytes);
  CUcontext popped = nullptr;
  (void)driver().pop(&popped);
  return wrong;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const crossrail_device_module* crossrail_device_module_v1(void) {
  static const crossrail_device_module module = {CROSSRAIL_DEVICE_MODULE_VERSION, "cuda", classify, copy};
  return driver().complete ? &module : nullptr;
}
