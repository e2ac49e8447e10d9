// UserBuffers is the user's memory of one call, prepared as the plan wants it.
#pragma once

#include "base/status.h"
#include "comm/buffers.h"
#include "device_sharing/device_sharing.h"

namespace crossrail {

struct Plan;

class UserBuffers {
 public:
  virtual ~UserBuffers() = default;

  // Presents the memory as blocks in host memory, with what is to be sent. Each block is a row of bytes, unless the plan takes blocks as they lie;
  // `plan` may be null. Errors: no_memory, system.
  virtual Status open(Buffers& buffers, const Plan* plan) = 0;
  // Returns whether what is sent lies where what is received goes, so that a call cannot be done again.
  virtual bool in_place() const { return false; }
  // The engine has filled the receiving blocks: copies them to the user's memory.
  virtual Status close() = 0;

  // Presents the call as one on device memory. UserBuffers that no device can access have a null address.
  virtual DeviceCall on_devices() { return {}; }
  virtual Buffers device_buffers() { return {}; }
};

// PlainBuffers are memory that already consists of contiguous blocks. A null side is empty.
class PlainBuffers final : public UserBuffers {
 public:
  // If all blocks are equal, each side has `bytes` bytes.
  PlainBuffers(const Buffers& buffers, std::size_t bytes = 0) : buffers_(buffers), bytes_(bytes) {}
  Status open(Buffers& buffers, const Plan*) override {
    buffers = buffers_;
    return {};
  }
  Status close() override { return {}; }
  bool in_place() const override { return buffers_.send == buffers_.recv; }
  DeviceCall on_devices() override { return {side_at(buffers_.send), side_at(buffers_.recv)}; }
  Buffers device_buffers() override { return buffers_; }

 private:
  DeviceSide side_at(const void* address) const { return {address, address == nullptr ? 0 : bytes_, false, address == nullptr}; }

  Buffers buffers_;
  std::size_t bytes_;
};

}  // namespace crossrail
