// UserBuffers: the user's memory of one call, brought to where the plan wants it.
#pragma once

#include "base/status.h"
#include "comm/buffers.h"
#include "device_sharing/device_sharing.h"

namespace crossrail {

struct Plan;

class UserBuffers {
 public:
  virtual ~UserBuffers() = default;

  // As blocks in host memory; what is to be sent lies there. In a row of bytes each, except where the plan takes them as they
  // lie; `plan` may be null. Errors: no_memory, system.
  virtual Status open(Buffers& buffers, const Plan* plan) = 0;
  // Whether what is sent lies where what is received goes, so that a call cannot be begun again.
  virtual bool in_place() const { return false; }
  // After the engine has filled the receiving blocks: brings them to the user's memory.
  virtual Status close() = 0;

  // As a call on device memory. UserBuffers that no device can touch have a null address.
  virtual DeviceCall on_devices() { return {}; }
  virtual Buffers device_buffers() { return {}; }
};

// Memory that is contiguous blocks already. A side at null is empty.
class PlainBuffers final : public UserBuffers {
 public:
  // `bytes` of each side where all blocks are equal.
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
