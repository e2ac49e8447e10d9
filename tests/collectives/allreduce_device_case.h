// This is one rank's side of an allreduce on device memory, filled and compared by the definition.
#pragma once

#include "tests/collectives/allreduce_case.h"
#include "tests/collectives/device_case.h"

namespace crossrail::tests {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr std::size_t kCounts[] = {0, 1, 5, 257, 4096, 20001};
#else
inline constexpr std::size_t kCounts[] = {0, 1, 2, 3, 5, 13, 64, 100, 257, 1023, 4096, 5000, 20001, 70001};
#endif
inline constexpr Reduction kReductions[] = {{Operation::sum, Element::int32}, {Operation::sum, Element::float64}, {Operation::maximum, Element::int32},
                                     {Operation::product, Element::int32}, {Operation::bitwise_xor, Element::int32}};

inline Shape on_devices(Shape shape, Order order = Order::call) {
  shape.memory = Memory::device;
  shape.order = order;
  return shape;
}

inline virtual_world::WorldOptions forced_reduction(const std::string& row) {
  virtual_world::WorldOptions options = mapped_at_once();
  options.settings.allreduce = row;
  return options;
}

// This is one rank's elements in device memory.
class OnDevice {
 public:
  OnDevice(Communicator& communicator, const Shape& shape, std::uint64_t call, Side side, Kinds kinds = {})
      : host_(communicator.topology, shape, call, side),
        bytes_(shape.block_bytes),
        in_place_(side == Side::in_place),
        send_(bytes_, call % 3 * 4, kinds.send),
        recv_(bytes_, call % 5 * 4, kinds.recv),
        buffers_({in_place_ ? recv_.data() : send_.data(), recv_.data()}, bytes_) {
    const Buffers filled = host_.buffers();
    copy_block(in_place_ ? recv_.touch() : send_.touch(), filled.send, bytes_);
  }
  DeviceBuffers& buffers() { return buffers_; }
  std::string wrong() {
    const Buffers host = host_.buffers();
    if (!in_place_ && !same_bytes(host.send, send_.touch(), bytes_)) return "written into what was sent";
    std::memset(send_.touch(), 0x11, bytes_);
    copy_block(host.recv, recv_.touch(), bytes_);
    if (!send_.intact() || !recv_.intact()) return "written outside the buffers";
    return host_.wrong();
  }

 private:
  AllreduceCase host_;
  std::size_t bytes_;
  bool in_place_;
  DeviceRow send_, recv_;
  DeviceBuffers buffers_;
};

inline Outcome checked(Communicator& communicator, const Shape& shape, std::uint64_t call, Side side, Kinds kinds = {}) {
  OnDevice one(communicator, shape, call, side, kinds);
  const Outcome outcome = run_collective(communicator, shape, one.buffers());
  const std::string where = communicator.settings.allreduce + ", " + name_of(shape.reduction.operation) + " of " + std::to_string(shape.block_bytes) +
                            " bytes, call " + std::to_string(call);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.what << ": " << where;
  if (!outcome.status.ok() || outcome.plan->native()) return outcome;
  EXPECT_EQ(one.wrong(), "") << where << " by " << outcome.plan->algorithm;
  return outcome;
}

}  // namespace crossrail::tests
