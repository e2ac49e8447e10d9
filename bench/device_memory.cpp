#include "device_memory.h"

#include <dlfcn.h>
#include <mpi.h>

#include <cstdint>
#include <cstdio>

#include "device_driver.h"

namespace bench::device {
namespace {

Driver driver;
Facts taken;

Address address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

}  // namespace

const Driver& loaded_driver() { return driver; }

std::string text_of(Result result) {
  const char* text = nullptr;
  return driver.text(result, &text) == 0 && text != nullptr ? text : "error " + std::to_string(result);
}

void insist(Result result, const char* what) {
  if (result == 0) return;
  std::fprintf(stderr, "bench: the CUDA driver cannot %s: %s\n", what, text_of(result).c_str());
  MPI_Abort(MPI_COMM_WORLD, 2);
}

namespace {

std::string load_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::string("there is no driver (") + dlerror() + ")";
  if (simulated_driver(library, driver)) return "";
  std::string missing;
  const auto look_up = [&](auto& entry, const char* name) { entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(dlsym(library, name)); };
  const auto find = [&](auto& entry, const char* name) {
    look_up(entry, name);
    if (entry == nullptr) missing = std::string("the driver lacks ") + name;
  };
  find(driver.init, "cuInit");
  find(driver.count, "cuDeviceGetCount");
  find(driver.get, "cuDeviceGet");
  find(driver.name, "cuDeviceGetName");
  find(driver.version, "cuDriverGetVersion");
  find(driver.retain, "cuDevicePrimaryCtxRetain");
  find(driver.make_current, "cuCtxSetCurrent");
  find(driver.allocate, "cuMemAlloc_v2");
  find(driver.release, "cuMemFree_v2");
  find(driver.copy, "cuMemcpy");
  find(driver.set, "cuMemsetD8_v2");
  find(driver.wait, "cuStreamSynchronize");
  find(driver.text, "cuGetErrorString");
  look_up(driver.share, "cuIpcGetMemHandle");
  look_up(driver.open_shared, "cuIpcOpenMemHandle_v2");
  look_up(driver.close_shared, "cuIpcCloseMemHandle");
  look_up(driver.allocate_pinned, "cuMemHostAlloc");
  look_up(driver.release_pinned, "cuMemFreeHost");
  look_up(driver.current, "cuCtxGetDevice");
  look_up(driver.attribute, "cuDeviceGetAttribute");
  look_up(driver.load, "cuModuleLoadData");
  look_up(driver.find, "cuModuleGetFunction");
  look_up(driver.open_stream, "cuStreamCreate");
  look_up(driver.ask, "cuStreamQuery");
  look_up(driver.launch, "cuLaunchKernel");
  return missing;
}

// Only NVML, which comes with the driver, knows the driver's own version.
std::string driver_version() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return "";
  const auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
  const auto version = reinterpret_cast<int (*)(char*, unsigned)>(dlsym(library, "nvmlSystemGetDriverVersion"));
  char text[80] = {};
  const bool known = init != nullptr && version != nullptr && init() == 0 && version(text, sizeof text) == 0;
  return known ? text : "";
}

Facts facts_of(int device) {
  char model[256] = {};
  int number = 0;
  insist(driver.name(model, sizeof model - 1, device), "name its device");
  insist(driver.version(&number), "tell its version");
  return {model, driver_version(), std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10)};
}

}  // namespace

std::string open(int local_rank) {
  const std::string problem = load_driver();
  if (!problem.empty()) return "there is no GPU to bench on: " + problem;
  int devices = 0;
  Result result = driver.init(0);
  if (result == 0) result = driver.count(&devices);
  if (result != 0) return "there is no GPU to bench on: " + text_of(result);
  if (devices == 0) return "there is no GPU to bench on: the driver sees none";
  int device = 0;
  void* context = nullptr;
  // The CUDA runtime of other libraries in this process also takes the primary context.
  result = driver.get(&device, local_rank % devices);
  if (result == 0) result = driver.retain(&context, device);
  if (result == 0) result = driver.make_current(context);
  if (result != 0) return "the GPU cannot be used: " + text_of(result);
  taken = facts_of(device);
  return "";
}

Facts facts() { return taken; }

void* allocate(std::size_t bytes) {
  Address memory = 0;
  return driver.allocate(&memory, bytes) == 0 ? reinterpret_cast<void*>(memory) : nullptr;
}

void release(void* memory) {
  if (memory != nullptr) insist(driver.release(address_of(memory)), "free memory");
}

// A copy from the host may return while the last of it is still under way, and so may a set. Only the default stream is waited for, because kernels
// that stay on other streams belong to others.
void copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  insist(driver.copy(address_of(to), address_of(from), bytes), "copy");
  insist(driver.wait(nullptr), "wait for a copy");
}

void set(void* memory, int value, std::size_t bytes) {
  if (bytes == 0) return;
  insist(driver.set(address_of(memory), static_cast<unsigned char>(value), bytes), "set memory");
  insist(driver.wait(nullptr), "wait for a memory set");
}

bool share(void* memory, Handle& handle) { return driver.share != nullptr && driver.share(&handle, address_of(memory)) == 0; }

void* open_shared(const Handle& handle) {
  constexpr unsigned kLazyPeerAccess = 1;
  Address memory = 0;
  if (driver.open_shared == nullptr || driver.open_shared(&memory, handle, kLazyPeerAccess) != 0) return nullptr;
  return reinterpret_cast<void*>(memory);
}

void close_shared(void* memory) {
  if (memory != nullptr) insist(driver.close_shared(address_of(memory)), "close memory of another process");
}

void* allocate_pinned(std::size_t bytes) {
  void* memory = nullptr;
  return driver.allocate_pinned(&memory, bytes, 0) == 0 ? memory : nullptr;
}

void release_pinned(void* memory) {
  if (memory != nullptr) insist(driver.release_pinned(memory), "free host memory");
}

}  // namespace bench::device
