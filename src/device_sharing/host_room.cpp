#include "device_sharing/host_room.h"

#include <sys/mman.h>

#include <bit>

#include "base/bytes.h"

namespace crossrail {
namespace {

// Shared, though perhaps with nobody: modules take a mapping of their own of such pages, so that giving them back need not wait for the
// device.
bool get_pages(std::size_t bytes, Couriers::Pages& pages) {
  Couriers& couriers = Couriers::of_process();
  if (couriers.count() > 0) return couriers.make_pages(bytes, pages).ok();
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (data != MAP_FAILED) pages = {static_cast<std::byte*>(data), bytes, 0};
  return data != MAP_FAILED;
}

void leave_pages(Couriers::Pages& pages) {
  if (pages.data == nullptr) return;
  if (pages.number != 0) return Couriers::of_process().give_back(pages);
  munmap(pages.data, pages.bytes);
  pages = {};
}

}  // namespace

bool HostRoom::reserve(std::size_t bytes) {
  if (pages_.bytes >= bytes) return true;
  if (refused_ > 0 && !std::has_single_bit(++refused_)) return false;
  release();
  const std::size_t wanted = round_up(bytes, kPageBytes);
  Couriers::Pages pages;
  void* mapped = nullptr;
  if (get_pages(wanted, pages) && queue_.module().open_pages(queue_.handle(), pages.data, wanted, &mapped) == nullptr) {
    pages_ = pages;
    on_device_ = static_cast<std::byte*>(mapped);
    refused_ = 0;
    return true;
  }
  leave_pages(pages);
  if (refused_ == 0) refused_ = 1;
  return false;
}

void HostRoom::release() {
  if (pages_.data == nullptr) return;
  queue_.module().close_pages(queue_.handle(), pages_.data);
  leave_pages(pages_);
  on_device_ = nullptr;
}

}  // namespace crossrail
