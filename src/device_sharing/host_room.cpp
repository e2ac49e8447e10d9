#include "device_sharing/host_room.h"

#include <sys/mman.h>

#include <bit>

#include "base/bytes.h"

namespace crossrail {

bool HostRoom::reserve(std::size_t bytes) {
  if (bytes_ >= bytes) return true;
  if (refused_ > 0 && !std::has_single_bit(++refused_)) return false;
  release();
  const std::size_t wanted = round_up(bytes, kPageBytes);
  // Shared, though with nobody: modules take a mapping of their own of such pages, so that giving them back need not wait for the device.
  void* const pages = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  void* mapped = nullptr;
  if (pages != MAP_FAILED && queue_.module().open_pages(queue_.handle(), pages, wanted, &mapped) == nullptr) {
    memory_ = static_cast<std::byte*>(pages);
    on_device_ = static_cast<std::byte*>(mapped);
    bytes_ = wanted;
    refused_ = 0;
    return true;
  }
  if (pages != MAP_FAILED) munmap(pages, wanted);
  if (refused_ == 0) refused_ = 1;
  return false;
}

void HostRoom::release() {
  if (memory_ == nullptr) return;
  queue_.module().close_pages(queue_.handle(), memory_);
  munmap(memory_, bytes_);
  memory_ = on_device_ = nullptr;
  bytes_ = 0;
}

}  // namespace crossrail
