#include "device_sharing/process_mappings.h"

#include <map>
#include <mutex>

namespace crossrail {
namespace {

struct Mappings {
  std::mutex mutex;
  std::map<ForeignAllocation, std::weak_ptr<Mapping>> all;
};
Mappings& mappings_of_process() {
  static Mappings& mappings = *new Mappings;  // They live as long as the process.
  return mappings;
}

// Whole allocations of a process that overlap cannot exist at the same time. So the other one was freed, and drivers may refuse to map the
// new one as long as it is mapped.
void close_overlapping(Mappings& mappings, const ForeignAllocation& fresh, std::uint64_t bytes) {
  for (auto& [other, weak] : mappings.all) {
    if (other.process != fresh.process || other.place != fresh.place) continue;
    const std::shared_ptr<Mapping> mapping = weak.lock();
    if (mapping != nullptr && mapping->whole && other.base < fresh.base + bytes && fresh.base < other.base + mapping->bytes) mapping->close();
  }
}

}  // namespace

Status map_once(const ForeignAllocation& allocation, const ForeignHandle& how, std::shared_ptr<Mapping>& mapping) {
  Mappings& mappings = mappings_of_process();
  const std::lock_guard lock(mappings.mutex);
  std::erase_if(mappings.all, [](const auto& one) { return one.second.expired(); });
  const auto found = mappings.all.find(allocation);
  if (found != mappings.all.end()) mapping = found->second.lock();
  if (mapping != nullptr) return {};
  const bool whole = how.handle.chunk_count == 0;
  if (whole) close_overlapping(mappings, allocation, how.handle.bytes);
  void* mapped = nullptr;
  CROSSRAIL_TRY(device::answered(device::module()->open_memory(how.queue, &how.handle, how.chunks, &mapped)));
  mapping = std::make_shared<Mapping>(static_cast<std::byte*>(mapped), how.handle.bytes, whole);
  mappings.all[allocation] = mapping;
  return {};
}

void Mapping::close() {
  if (std::byte* const open = mapped.exchange(nullptr); open != nullptr) (void)device::module()->free(open);
}

}  // namespace crossrail
