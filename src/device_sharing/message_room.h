// MessageRoom holds memory of ours for what goes to other nodes and what comes from there. This rank's device reads and writes it by
// itself, and the messages begin and end in it. It is host memory, or memory of the device where the MPI library takes such addresses.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "device_sharing/device_queue.h"
#include "transport/helper_processes.h"

namespace crossrail {

class MessageRoom {
 public:
  enum class Where : std::uint8_t { host, device };

  explicit MessageRoom(const DeviceQueue& queue) : queue_(queue) {}
  ~MessageRoom() { release(); }
  MessageRoom(const MessageRoom&) = delete;
  MessageRoom& operator=(const MessageRoom&) = delete;

  // Reserves memory for the call that runs. What it held is lost where it grows. It is host memory if it cannot be had on the device. The
  // function returns false if so much cannot be had. Later calls try again, less and less often.
  bool reserve(std::size_t bytes, Where where);
  // Messages begin and end there.
  std::byte* memory() const { return of_messages_; }
  // This is the same memory as the device sees it.
  std::byte* on_device() const { return on_device_; }
  Where where() const { return of_messages_ == nullptr || of_messages_ != device_.data ? Where::host : Where::device; }
  // Releases it before the queue is closed, and when no message is under way.
  void release();

 private:
  struct Refusals {
    std::uint64_t times = 0;
    bool asks_again() { return times == 0 || std::has_single_bit(++times); }
    bool note(bool refused) {
      times = refused ? std::uint64_t{times == 0 ? 1 : times} : 0;
      return !refused;
    }
  };
  struct Pages {
    HelperProcesses::Pages pages;  // If its number is 0, helper processes do not see them.
    std::byte* on_device = nullptr;
    Refusals refusals;
  };
  struct OnDevice {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    Refusals refusals;
  };
  bool reserve_pages(std::size_t bytes);
  bool reserve_on_device(std::size_t bytes);
  void release_pages();
  void release_on_device();

  const DeviceQueue& queue_;
  Pages host_;
  OnDevice device_;
  std::byte *of_messages_ = nullptr, *on_device_ = nullptr;  // They are those of the call that runs.
};

}  // namespace crossrail
