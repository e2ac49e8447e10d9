#include "device/device.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <mutex>
#include <string>

#include "base/log.h"
#include "device/loader_mark.h"

namespace crossrail::device {
namespace {

// A Vendor is a driver's library, the module that speaks to it, and the files of which a machine with such devices has one.
struct Vendor {
  const char* driver;
  const char* module;
  const char* device_files[4];
};
constexpr Vendor kVendors[] = {
    {"libcuda.so", "libcrossrail_cuda.so", {"/dev/nvidiactl", "/dev/nvhost-ctrl-gpu", "/dev/nvmap", "/dev/dxg"}},
    {"libamdhip64.so", "libcrossrail_hip.so", {"/dev/kfd", "/dev/dxg"}},
};
constexpr std::size_t kMost = std::size(kVendors);

// The modules are in the order in which they were loaded, with null behind the last. The first handles calls on device memory. The others
// only recognize their vendor's memory and copy it.
std::atomic<const crossrail_device_module*> modules[kMost + 1];
std::atomic<bool> some_driver{false};
std::atomic<bool> some_module_missing{false};  // It is a module of a driver that has devices.

// Without devices a driver has no memory that a program could pass.
bool has_devices(const Vendor& vendor) {
  for (const char* file : vendor.device_files) {
    if (file != nullptr && access(file, F_OK) == 0) return true;
  }
  return false;
}

// The module lies beside the library that holds this code.
std::string beside_us(const char* name) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&driver_without_module), &info) == 0 || info.dli_fname == nullptr) return name;
  const std::string path = info.dli_fname;
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? name : path.substr(0, slash + 1) + name;
}

void keep_module(const crossrail_device_module* module) {
  for (auto& place : modules) {
    const crossrail_device_module* none = nullptr;
    if (place.compare_exchange_strong(none, module, std::memory_order_acq_rel)) return;
  }
}

// Returns the table as this library knows it. What a shorter table lacks is not supported.
const crossrail_device_module* as_known_here(const crossrail_device_module& module) {
  auto* const known = new crossrail_device_module{};  // It lives as long as the process.
  std::memcpy(known, &module, std::min(module.size, sizeof *known));
  return known;
}

void load_module(const Vendor& vendor) {
  some_driver = true;
  void* library = dlopen(beside_us(vendor.module).c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto entry = library == nullptr ? nullptr
                                        : reinterpret_cast<crossrail_device_module_entry>(
                                              dlsym(library, CROSSRAIL_DEVICE_MODULE_ENTRY));
  const crossrail_device_module* const module = entry == nullptr ? nullptr : entry();
  if (module != nullptr) return keep_module(as_known_here(*module));
  if (!has_devices(vendor)) {
    log_line(LogLevel::plan, "%s is in this process, but there is no %s for it, and no device either", vendor.driver, vendor.module);
    return;
  }
  some_module_missing = true;
  log_line(LogLevel::error, "%s is in this process, but there is no %s for it: communicators from now on are left to the MPI library, "
           "since device memory cannot be told from other memory", vendor.driver, vendor.module);
}

// Notes the vendors whose drivers are loaded.
int find_drivers(dl_phdr_info* object, std::size_t, void* found) {
  const char* slash = object->dlpi_name == nullptr ? nullptr : std::strrchr(object->dlpi_name, '/');
  for (std::size_t i = 0; slash != nullptr && i < kMost; ++i) {
    if (std::strncmp(slash + 1, kVendors[i].driver, std::strlen(kVendors[i].driver)) == 0) static_cast<bool*>(found)[i] = true;
  }
  return 0;
}

int read_load_count(dl_phdr_info* object, std::size_t, void* count) {
  *static_cast<unsigned long long*>(count) = object->dlpi_adds;
  return 1;  // The first object is enough.
}

unsigned long long load_count() {
  unsigned long long loads = 0;
  dl_iterate_phdr(read_load_count, &loads);
  return loads;
}

LoaderMark loader_mark;
std::atomic<unsigned long long> looked_at{0};
std::atomic<int> looks_in_vain{0};  // It counts since something was loaded.

void load_modules_of_drivers() {
  static bool tried[kMost] = {};
  bool found[kMost] = {};
  dl_iterate_phdr(find_drivers, found);
  // Drivers with devices come first.
  for (const bool devices : {true, false}) {
    for (std::size_t i = 0; i < kMost; ++i) {
      if (!found[i] || tried[i] || has_devices(kVendors[i]) != devices) continue;
      tried[i] = true;
      load_module(kVendors[i]);
    }
  }
}

// The loader is asked whether something has been loaded. If nothing has been loaded for a while, this is marked.
void ask_the_loader() {
  constexpr int kLooksWorthAMark = 16;
  const bool nothing_new = load_count() == looked_at.load(std::memory_order_acquire);
  if (nothing_new && ++looks_in_vain != kLooksWorthAMark) return;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (nothing_new) loader_mark.renew();
  const unsigned long long loads = load_count();
  if (loads == looked_at.load()) return;
  load_modules_of_drivers();
  looks_in_vain = 0;
  looked_at.store(loads, std::memory_order_release);
}

// A program may load its driver at any time, and the answer must be right in the very call that brings the first device pointer.
void look_for_drivers() {
  if (!loader_mark.nothing_loaded_since()) [[unlikely]] ask_the_loader();
}

}  // namespace

const crossrail_device_module* module() {
  const crossrail_device_module* const first = modules[0].load(std::memory_order_acquire);
  if (first != nullptr) return first;
  look_for_drivers();
  return modules[0].load(std::memory_order_acquire);
}

void use_module(const crossrail_device_module* pretended) { modules[0] = pretended; }

bool driver_without_module() {
  look_for_drivers();
  return some_module_missing.load();
}

bool driver_present() { return module() != nullptr || some_driver.load(); }

bool is_device_memory(const void* pointer) {
  (void)module();
  for (const auto& one : modules) {
    const crossrail_device_module* const present = one.load(std::memory_order_acquire);
    if (present == nullptr) return false;
    if (kind_of(*present, pointer) == CROSSRAIL_MEMORY_DEVICE) return true;
  }
  return false;
}

bool can_share(const crossrail_device_module* module) {
  return module != nullptr && module->enqueue != nullptr && module->open_queue != nullptr && module->open_pages != nullptr &&
         module->export_memory != nullptr && module->open_memory != nullptr;
}

bool driver_may_come() {
  static const bool has_any = std::any_of(std::begin(kVendors), std::end(kVendors), has_devices);
  return has_any || driver_present();
}

namespace {

// Returns the module that knows one of the two addresses, otherwise the first module. It is null if there is none.
const crossrail_device_module* module_for(const void* to, const void* from) {
  const crossrail_device_module* present = module();
  for (std::size_t i = 1; i < kMost && present != nullptr; ++i) {
    const crossrail_device_module* const other = modules[i].load(std::memory_order_acquire);
    if (other == nullptr) break;
    if (kind_of(*other, to) == CROSSRAIL_MEMORY_DEVICE || kind_of(*other, from) == CROSSRAIL_MEMORY_DEVICE) present = other;
  }
  return present;
}

}  // namespace

Status copy(void* to, const void* from, std::size_t bytes) {
  const crossrail_rows row{to, from, bytes, 1, bytes};
  return bytes == 0 ? Status{} : copy_rows({&row, 1});
}

Status copy_rows(std::span<const crossrail_rows> rows) {
  if (rows.empty()) return {};
  const crossrail_device_module* const present = module_for(rows.front().to, rows.front().from);
  if (present != nullptr) return answered(present->copy(rows.data(), rows.size()));
  for (const crossrail_rows& one : rows) {
    for (std::size_t at = 0; at < one.count * one.pitch; at += one.pitch) {
      std::memcpy(static_cast<std::byte*>(one.to) + at, static_cast<const std::byte*>(one.from) + at, one.bytes);
    }
  }
  return {};
}

Status answered(const char* wrong) {
  return wrong == nullptr ? Status{} : failure(Code::system, "%s module: %s", module()->name, wrong);
}

}  // namespace crossrail::device
