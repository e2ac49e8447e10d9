// HostRoom: host memory of ours that this rank's device reads and writes by itself: what goes to other nodes, and what comes from there.
#pragma once

#include <cstddef>

#include "device_sharing/device_queue.h"
#include "transport/couriers.h"

namespace crossrail {

class HostRoom {
 public:
  explicit HostRoom(const DeviceQueue& queue) : queue_(queue) {}
  ~HostRoom() { release(); }
  HostRoom(const HostRoom&) = delete;
  HostRoom& operator=(const HostRoom&) = delete;

  // What it held is lost where it grows. False: so much cannot be had; then it is tried again, ever more seldom.
  bool reserve(std::size_t bytes);
  std::byte* memory() const { return pages_.data; }
  // The same memory, as the device sees it.
  std::byte* on_device() const { return on_device_; }
  // Before the queue is closed.
  void release();

 private:
  const DeviceQueue& queue_;
  Couriers::Pages pages_;  // number 0: helper processes do not see them
  std::byte* on_device_ = nullptr;
  std::uint64_t refused_ = 0;  // times that there was too little
};

}  // namespace crossrail
