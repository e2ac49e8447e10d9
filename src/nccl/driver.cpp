#include "nccl/driver.h"

#include <dlfcn.h>

namespace crossrail::nccl {
namespace {

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

Driver find_driver() {
  Driver found;
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return found;
  const bool made = find(library, "cuEventCreate", found.create_event) && find(library, "cuEventDestroy_v2", found.destroy_event);
  found.orders_streams = made && find(library, "cuEventRecord", found.record) && find(library, "cuStreamWaitEvent", found.wait);
  return found;
}

}  // namespace

const Driver& driver() {
  static const Driver known = find_driver();
  return known;
}

}  // namespace crossrail::nccl
