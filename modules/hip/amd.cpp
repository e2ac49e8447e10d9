// This is HIP for AMD's devices. The runtime is the one the process has loaded.

#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "gpu.h"

namespace gpu {
namespace {

int find_runtime(dl_phdr_info* object, size_t, void* found) {
  const char* slash = object->dlpi_name == nullptr ? nullptr : std::strrchr(object->dlpi_name, '/');
  if (slash == nullptr || std::strncmp(slash, "/libamdhip64.so", 15) != 0) return 0;
  *static_cast<void**>(found) = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  return 1;
}

// This tells what has changed with the runtime's version, whatever the headers say.
void tell_version(Driver& driver, void* library) {
  constexpr int kSix = 60000000;
  const auto version = reinterpret_cast<Result (*)(int*)>(dlsym(library, "hipRuntimeGetVersion"));
  int found = 0;
  if (version == nullptr || version(&found) != kSuccess) found = HIP_VERSION;
  driver.device_kind = found >= kSix ? 2 : 1;
  driver.chunks_known = found >= kSix && driver.chunk_access;
  // Chunks are not counted before version 7, and some versions fall over other memory.
  driver.retain_chunk.at = nullptr;
}

}  // namespace

Driver open_driver() {
  Driver driver;
  void* library = nullptr;
  dl_iterate_phdr(find_runtime, &library);
  if (library == nullptr) return driver;
#define GPU_FIND(word, symbol, ...) \
  driver.word.at = reinterpret_cast<decltype(driver.word.at)>(dlsym(library, #symbol));
  GPU_ENTRIES(GPU_FIND)
#undef GPU_FIND
  driver.error_text = reinterpret_cast<const char* (*)(Result)>(dlsym(library, "hipGetErrorString"));
  tell_version(driver, library);
  driver.complete = driver.error_text != nullptr && driver.pointer_attributes && driver.current_device &&
                    driver.use_device && driver.copy_as && driver.open_stream && driver.await_stream;
  return driver;
}

}  // namespace gpu
