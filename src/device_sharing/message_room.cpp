#include "device_sharing/message_room.h"

#include <sys/mman.h>

#include "base/bytes.h"

namespace crossrail {
namespace {

// The pages are shared, though perhaps with nobody. Modules take a mapping of their own of such pages, so giving them back need not wait
// for the device.
bool get_pages(std::size_t bytes, HelperProcesses::Pages& pages) {
  HelperProcesses& helpers = HelperProcesses::of_process();
  if (helpers.count() > 0) return helpers.make_pages(bytes, pages).ok();
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (data != MAP_FAILED) pages = {static_cast<std::byte*>(data), bytes, 0};
  return data != MAP_FAILED;
}

void leave_pages(HelperProcesses::Pages& pages) {
  if (pages.data == nullptr) return;
  if (pages.number != 0) return HelperProcesses::of_process().give_back(pages);
  munmap(pages.data, pages.bytes);
  pages = {};
}

}  // namespace

bool MessageRoom::reserve_pages(std::size_t bytes) {
  if (host_.pages.bytes >= bytes) return true;
  if (!host_.refusals.asks_again()) return false;
  release_pages();
  const std::size_t wanted = round_up(bytes, kPageBytes);
  HelperProcesses::Pages pages;
  void* mapped = nullptr;
  const bool got = get_pages(wanted, pages) && queue_.module().open_pages(queue_.handle(), pages.data, wanted, &mapped) == nullptr;
  if (!got) leave_pages(pages);
  if (got) host_.pages = pages;
  host_.on_device = static_cast<std::byte*>(mapped);
  return host_.refusals.note(!got);
}

bool MessageRoom::reserve_on_device(std::size_t bytes) {
  if (device_.bytes >= bytes) return true;
  if (!device_.refusals.asks_again()) return false;
  release_on_device();
  void* memory = nullptr;
  const bool got = queue_.module().alloc(&queue_.home(), bytes, &memory) == nullptr;
  if (got) device_.data = static_cast<std::byte*>(memory), device_.bytes = bytes;
  return device_.refusals.note(!got);
}

bool MessageRoom::reserve(std::size_t bytes, Where where) {
  if (where == Where::device && reserve_on_device(bytes)) {
    of_messages_ = on_device_ = device_.data;
    return true;
  }
  const bool got = reserve_pages(bytes);
  of_messages_ = got ? host_.pages.data : nullptr;
  on_device_ = got ? host_.on_device : nullptr;
  return got;
}

void MessageRoom::release_pages() {
  if (host_.pages.data == nullptr) return;
  queue_.module().close_pages(queue_.handle(), host_.pages.data);
  leave_pages(host_.pages);
  host_.on_device = nullptr;
}

void MessageRoom::release_on_device() {
  if (device_.data == nullptr) return;
  (void)queue_.module().free(device_.data);
  device_.data = nullptr;
  device_.bytes = 0;
}

void MessageRoom::release() {
  release_pages();
  release_on_device();
  of_messages_ = on_device_ = nullptr;
}

}  // namespace crossrail
