// Sides: the user's memory of one call, brought to where the plan wants it.
#pragma once

#include "base/status.h"
#include "comm/buffers.h"
#include "transport/device_board.h"

namespace crossrail {

class Sides {
 public:
  virtual ~Sides() = default;

  // As contiguous blocks in host memory; what is to be sent lies there. Errors: no_memory, system.
  virtual Status open(Buffers& buffers) = 0;
  // After the engine has filled the receiving blocks: brings them to the user's memory.
  virtual Status close() = 0;

  // As a call on device memory. Sides that no device can touch have a null address.
  virtual DeviceCall on_devices() { return {}; }
  virtual Buffers device_buffers() { return {}; }
};

// Memory that is contiguous blocks already.
class PlainSides final : public Sides {
 public:
  PlainSides(const Buffers& buffers, std::size_t bytes = 0) : buffers_(buffers), bytes_(bytes) {}
  Status open(Buffers& buffers) override {
    buffers = buffers_;
    return {};
  }
  Status close() override { return {}; }
  DeviceCall on_devices() override { return {{buffers_.send, bytes_, false}, {buffers_.recv, bytes_, false}}; }
  Buffers device_buffers() override { return buffers_; }

 private:
  Buffers buffers_;
  std::size_t bytes_;
};

}  // namespace crossrail
