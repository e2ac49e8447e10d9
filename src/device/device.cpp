#include "device/device.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <string>

#include "base/log.h"

namespace crossrail::device {
namespace {

// A driver's library, and the module that speaks to it.
struct Vendor {
  const char* driver;
  const char* module;
};
constexpr Vendor kVendors[] = {
    {"libcuda.so", "libcrossrail_cuda.so"},
    {"libamdhip64.so", "libcrossrail_hip.so"},
    {"libze_loader.so", "libcrossrail_level_zero.so"},
};

std::atomic<const crossrail_device_module*> loaded_module{nullptr};
std::atomic<bool> module_missing{false};

// The module lies beside the library that holds this code.
std::string beside_us(const char* name) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&driver_without_module), &info) == 0 || info.dli_fname == nullptr) return name;
  const std::string path = info.dli_fname;
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? name : path.substr(0, slash + 1) + name;
}

void load_module(const Vendor& vendor) {
  void* library = dlopen(beside_us(vendor.module).c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto entry = library == nullptr ? nullptr
                                        : reinterpret_cast<crossrail_device_module_entry>(
                                              dlsym(library, CROSSRAIL_DEVICE_MODULE_ENTRY));
  const crossrail_device_module* module = entry == nullptr ? nullptr : entry();
  if (module == nullptr || module->version != CROSSRAIL_DEVICE_MODULE_VERSION) {
    module_missing = true;
    log_line(LogLevel::plan, "%s is in this process, but there is no %s for it", vendor.driver, vendor.module);
    return;
  }
  loaded_module = module;
}

int find_driver(dl_phdr_info* object, std::size_t, void* found) {
  const char* slash = object->dlpi_name == nullptr ? nullptr : std::strrchr(object->dlpi_name, '/');
  for (const Vendor& vendor : kVendors) {
    if (slash == nullptr || std::strncmp(slash + 1, vendor.driver, std::strlen(vendor.driver)) != 0) continue;
    *static_cast<const Vendor**>(found) = &vendor;
    return 1;
  }
  return 0;
}

int read_load_count(dl_phdr_info* object, std::size_t, void* count) {
  *static_cast<unsigned long long*>(count) = object->dlpi_adds;
  return 1;  // the first object is enough
}

// A program may load its driver at any time: look again whenever the loader has loaded something.
void look_for_drivers() {
  static std::atomic<unsigned long long> looked_at{0};
  unsigned long long loads = 0;
  dl_iterate_phdr(read_load_count, &loads);
  if (loads == looked_at.load(std::memory_order_acquire)) return;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (loads == looked_at.load() || loaded_module.load() != nullptr || module_missing.load()) return;
  const Vendor* vendor = nullptr;
  dl_iterate_phdr(find_driver, &vendor);
  if (vendor != nullptr) load_module(*vendor);
  looked_at.store(loads, std::memory_order_release);
}

}  // namespace

const crossrail_device_module* module() {
  if (loaded_module.load(std::memory_order_acquire) == nullptr && !module_missing.load()) look_for_drivers();
  return loaded_module.load(std::memory_order_acquire);
}

void use_module(const crossrail_device_module* pretended) { loaded_module = pretended; }

bool driver_without_module() { return module() == nullptr && module_missing.load(); }

bool driver_present() { return module() != nullptr || module_missing.load(); }

bool is_device_memory(const void* pointer) {
  const crossrail_device_module* present = module();
  return present != nullptr && present->classify(pointer) == CROSSRAIL_MEMORY_DEVICE;
}

Status copy(void* to, const void* from, std::size_t bytes) {
  const crossrail_device_module* present = module();
  if (present == nullptr) {
    std::memcpy(to, from, bytes);
    return {};
  }
  return answered(present->copy(to, from, bytes));
}

Status answered(const char* wrong) {
  return wrong == nullptr ? Status{} : failure(Code::system, "%s module: %s", module()->name, wrong);
}

}  // namespace crossrail::device
