// This is one rank's side of an alltoall on device memory, on a device that is made of host memory (virtual_world/host_device.h), filled and compared
// by the definition.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "device/device.h"
#include "tests/collectives/alltoall_case.h"
#include "virtual_world/host_device.h"

namespace crossrail::tests {

// This is device memory for one side of a call, between guard zones.
class DeviceRow {
 public:
  DeviceRow(std::size_t bytes, std::size_t shift, host_device_kind kind)
      : bytes_(bytes), begin_(128 + shift), memory_(static_cast<std::byte*>(host_device_alloc(bytes + begin_ + 128, kind))) {
    std::memset(host_device_touchable(memory_), 0xA5, begin_ + bytes + 128);
  }
  ~DeviceRow() { host_device_free(memory_); }
  DeviceRow(const DeviceRow&) = delete;
  DeviceRow& operator=(const DeviceRow&) = delete;
  std::byte* data() { return memory_ + begin_; }
  std::byte* touch() { return static_cast<std::byte*>(host_device_touchable(data())); }
  bool intact() {
    const std::byte* const all = static_cast<std::byte*>(host_device_touchable(memory_));
    const std::vector<std::byte> marks(begin_, std::byte{0xA5});
    return same_bytes(all, marks.data(), begin_) && same_bytes(all + begin_ + bytes_, marks.data(), 128);
  }

 private:
  std::size_t bytes_, begin_;
  std::byte* memory_;
};

struct Kinds {
  host_device_kind send = HOST_DEVICE_PLAIN, recv = HOST_DEVICE_PLAIN;
};

// A program would pass this: device memory, and the host copies that it is staged through.
class DeviceBuffers final : public UserBuffers {
 public:
  DeviceBuffers(const Buffers& device, std::size_t bytes) : device_(device), bytes_(bytes), send_(bytes), recv_(bytes) {}
  Status open(Buffers& buffers, const Plan*) override {
    copy_block(send_.data(), host_device_touchable(device_.send), bytes_);
    buffers = {device_.send == device_.recv ? recv_.data() : send_.data(), recv_.data()};
    if (device_.send == device_.recv) recv_ = send_;
    return {};
  }
  Status close() override {
    copy_block(host_device_touchable(device_.recv), recv_.data(), bytes_);
    return {};
  }
  DeviceCall on_devices() override { return {{device_.send, bytes_, gaps}, {device_.recv, bytes_, false}}; }
  Buffers device_buffers() override { return device_; }

  bool gaps = false;  // With it, what is sent is said to have gaps.

 private:
  Buffers device_;
  std::size_t bytes_;
  std::vector<std::byte> send_, recv_;
};

// This is the memory of one rank, for calls of one Shape.
class DeviceCase {
 public:
  DeviceCase(Communicator& communicator, const Shape& shape, Kinds kinds, std::size_t shift = 0)
      : communicator_(communicator),
        shape_(shape),
        bytes_(shape.block_bytes * static_cast<std::size_t>(communicator.topology.size)),
        send_(bytes_, shift % 17, kinds.send),
        recv_(bytes_, shift % 5, kinds.recv),
        buffers_({shape.in_place ? recv_.data() : send_.data(), recv_.data()}, bytes_) {}

  DeviceRow& send() { return send_; }
  DeviceRow& recv() { return recv_; }
  DeviceBuffers& buffers() { return buffers_; }
  std::size_t bytes() const { return bytes_; }

  void fill(std::uint64_t call, std::byte* from) const {
    const Topology& topology = communicator_.topology;
    for (int peer = 0; peer < topology.size; ++peer) {
      fill_block(from + static_cast<std::size_t>(peer) * shape_.block_bytes, shape_.block_bytes, call, topology.rank, peer);
    }
  }
  // Returns what is wrong, or an empty text.
  std::string wrong(std::uint64_t call, const std::byte* received) const {
    std::vector<std::byte> expected(shape_.block_bytes);
    for (int peer = 0; peer < communicator_.topology.size; ++peer) {
      fill_block(expected.data(), shape_.block_bytes, call, peer, communicator_.topology.rank);
      if (!same_bytes(expected.data(), received + static_cast<std::size_t>(peer) * shape_.block_bytes, expected.size())) {
        return "a wrong block from " + std::to_string(peer);
      }
    }
    return {};
  }
  std::string text(std::uint64_t call) const {
    return communicator_.settings.alltoall + ", rank " + std::to_string(communicator_.topology.rank) + " of " +
           std::to_string(communicator_.topology.size) + ", blocks of " + std::to_string(shape_.block_bytes) +
           (shape_.in_place ? " in place" : "") + ", call " + std::to_string(call);
  }
  // Makes one call with fresh data, compared with the definition.
  Outcome call(std::uint64_t number) {
    std::memset(recv_.touch(), 0xEE, bytes_);
    fill(number, shape_.in_place ? recv_.touch() : send_.touch());
    const Outcome outcome = run_collective(communicator_, shape_, buffers_);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status.what << ": " << text(number);
    if (!outcome.status.ok() || outcome.plan->native()) return outcome;
    std::memset(send_.touch(), 0x11, bytes_);
    EXPECT_EQ(wrong(number, recv_.touch()), "") << text(number) << " by " << outcome.plan->algorithm;
    EXPECT_TRUE(send_.intact() && recv_.intact()) << text(number);
    return outcome;
  }

 private:
  Communicator& communicator_;
  Shape shape_;
  std::size_t bytes_;
  DeviceRow send_, recv_;
  DeviceBuffers buffers_;
};

inline Shape device_shape(std::size_t block_bytes, bool in_place = false, Order order = Order::call) {
  return {Collective::alltoall, Memory::device, in_place, block_bytes, order};
}

// These tests have a device that does as `set` says.
class WithHostDevice {
 public:
  WithHostDevice() {
    device::use_module(host_device_module());
    set({});
  }
  ~WithHostDevice() {
    set({});
    device::use_module(nullptr);
  }
  static void set(const host_device_options& options) { host_device_set(&options); }
};

// Memory is not staged before it is mapped.
inline virtual_world::WorldOptions mapped_at_once() {
  virtual_world::WorldOptions options;
  options.settings.device_staged_uses = 0;
  return options;
}

// Some ranks and sides have memory that cannot be shared.
inline Kinds partly_unshareable(const Communicator& communicator) {
  const bool odd = communicator.topology.rank % 2 != 0;
  return {odd ? HOST_DEVICE_UNSHAREABLE : HOST_DEVICE_PLAIN, odd ? HOST_DEVICE_PLAIN : HOST_DEVICE_UNSHAREABLE};
}

// 3 and 5 ranks share 1 and 2 devices. One launcher works on each, or every rank for itself; memory is mapped, or staged in rounds.
template <class Calls>
void on_shared_devices(virtual_world::WorldOptions options, Calls calls) {
  const std::uint64_t whole = options.settings.device_scratch_bytes;
  for (const int devices : {1, 2}) {
    WithHostDevice::set({.devices = devices, .delay_us = 20});
    for (const bool one : {true, false}) {
      options.settings.one_launcher = one ? 1 : 0;
      options.settings.device_scratch_bytes = whole;
      virtual_world::world({0, 0, 0, 0, 0}, options, [&](Communicator& communicator) { calls(communicator, Kinds{}); });
      options.settings.device_scratch_bytes = 32768;
      virtual_world::world({0, 0, 0}, options, [&](Communicator& communicator) { calls(communicator, partly_unshareable(communicator)); });
    }
  }
}

inline virtual_world::WorldOptions forced_on_devices(const Algorithm& row) {
  virtual_world::WorldOptions options = mapped_at_once();
  options.settings.alltoall = row.name;
  if (options.settings.alltoall == "hybrid") options.settings.alltoall += " memcpy_threshold=10000";
  options.settings.resident_us = std::string(row.name) == "ipc_resident_push" ? 100 : 0;
  return options;
}

inline std::vector<Algorithm> device_rows() {
  const auto rows = catalogue(Collective::alltoall, Memory::device);
  return {rows.begin(), rows.end()};
}

}  // namespace crossrail::tests
