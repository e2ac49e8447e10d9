// This is one rank's side of an alltoallv on device memory (device_case.h): blocks of any length anywhere in the buffers.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>

#include "tests/collectives/alltoallv_case.h"
#include "tests/collectives/device_case.h"

namespace crossrail::tests {

// A program would pass this: device memory, and the host copies that it is staged through.
class DeviceVectorBuffers final : public UserBuffers {
 public:
  DeviceVectorBuffers(const Buffers& device, std::size_t send_bytes, std::size_t recv_bytes, int ranks)
      : device_(device), send_(send_bytes), recv_(recv_bytes), places_(static_cast<std::size_t>(ranks)) {}
  Status open(Buffers& buffers, const Plan*) override {
    copy_block(recv_.data(), host_device_touchable(device_.recv), recv_.size());
    send_.resize(in_place() ? recv_.size() : send_.size());
    copy_block(send_.data(), host_device_touchable(device_.send), send_.size());
    buffers = {send_.data(), recv_.data(), device_.out, device_.in};
    return {};
  }
  Status close() override {
    copy_block(host_device_touchable(device_.recv), recv_.data(), recv_.size());
    return {};
  }
  bool in_place() const override { return device_.in_place; }
  DeviceCall on_devices() override {
    DeviceCall call{side(device_.send, device_.out), side(device_.recv, device_.in)};
    call.recv.ours = in_place();
    for (std::size_t rank = 0; rank < places_.size(); ++rank) call.block_bytes = std::max({call.block_bytes, device_.in[rank].bytes, device_.out[rank].bytes});
    for (std::size_t rank = 0; rank < places_.size(); ++rank) {
      const std::ptrdiff_t lower = static_cast<const std::byte*>(call.recv.address) - device_.recv;
      const std::ptrdiff_t sent_lower = static_cast<const std::byte*>(call.send.address) - device_.send;
      places_[rank] = {static_cast<std::uint64_t>(device_.in[rank].offset - lower), static_cast<std::uint64_t>(device_.out[rank].offset - sent_lower),
                       device_.in[rank].bytes, device_.out[rank].bytes};
    }
    call.places = places_.data();
    return call;
  }
  Buffers device_buffers() override { return device_; }

 private:
  DeviceSide side(const std::byte* base, const Block* blocks) const {
    std::ptrdiff_t lower = PTRDIFF_MAX, upper = PTRDIFF_MIN;
    for (std::size_t rank = 0; rank < places_.size(); ++rank) {
      if (blocks[rank].bytes == 0) continue;
      lower = std::min(lower, blocks[rank].offset);
      upper = std::max(upper, blocks[rank].offset + static_cast<std::ptrdiff_t>(blocks[rank].bytes));
    }
    if (lower > upper) return {device_.recv, 0, false, true};
    return {base + lower, static_cast<std::size_t>(upper - lower)};
  }

  Buffers device_;
  std::vector<std::byte> send_, recv_;
  std::vector<DevicePlace> places_;
};

struct VectorCallKind {
  Counts counts;
  std::uint64_t call;
  bool in_place = false;
};

class DeviceVectorCase {
 public:
  DeviceVectorCase(Communicator& communicator, const VectorCallKind& kind, Kinds kinds)
      : communicator_(communicator), kind_(kind), rank_(communicator.topology.rank), size_(communicator.topology.size) {
    const std::size_t send_bytes = place(out, true), recv_bytes = place(in, false);
    if (kind.in_place) out = in;
    send_ = std::make_unique<DeviceRow>(send_bytes, kind.call % 3, kinds.send);
    recv_ = std::make_unique<DeviceRow>(recv_bytes, kind.call % 5, kinds.recv);
    recv_bytes_ = recv_bytes;
    std::memset(recv_->touch(), 0xEE, recv_bytes);
    for (int peer = 0; peer < size_; ++peer) {
      const Block& block = out[static_cast<std::size_t>(peer)];
      fill_block((kind.in_place ? recv_ : send_)->touch() + block.offset, block.bytes, kind.call, rank_, peer);
    }
    buffers_ = std::make_unique<DeviceVectorBuffers>(
        Buffers{kind.in_place ? recv_->data() : send_->data(), recv_->data(), out.data(), in.data(), kind.in_place}, send_bytes, recv_bytes, size_);
  }
  DeviceVectorBuffers& buffers() { return *buffers_; }

  // Returns what is wrong, or an empty text. `bytes(sender)` of each block have come.
  template <class Bytes>
  std::string wrong(Bytes bytes) {
    if (!send_->intact() || !recv_->intact()) return "written outside the buffers";
    std::vector<std::byte> expected(recv_bytes_, std::byte{0xEE});
    for (int peer = 0; peer < size_; ++peer) {
      fill_block(expected.data() + in[static_cast<std::size_t>(peer)].offset, bytes(peer), kind_.call, peer, rank_);
    }
    return same_bytes(expected.data(), recv_->touch(), expected.size()) ? "" : "wrong bytes";
  }
  std::string wrong() {
    return wrong([this](int peer) { return in[static_cast<std::size_t>(peer)].bytes; });
  }
  Outcome call() {
    const Outcome outcome = run_collective(communicator_.slot(), kVectorShape, *buffers_);
    EXPECT_TRUE(outcome.status.ok()) << outcome.status.what << ": " << text();
    if (!outcome.status.ok() || outcome.plan->native()) return outcome;
    EXPECT_EQ(wrong(), "") << text() << " by " << outcome.plan->algorithm;
    return outcome;
  }
  std::string text() const {
    return "rank " + std::to_string(rank_) + " of " + std::to_string(size_) + ", counts " + std::to_string(static_cast<int>(kind_.counts)) +
           (kind_.in_place ? " in place" : "") + ", call " + std::to_string(kind_.call);
  }

  std::vector<Block> out, in;

 private:
  // Places blocks in an order of their own, with gaps of odd lengths every other call.
  std::size_t place(std::vector<Block>& blocks, bool sent) {
    std::vector<int> order(static_cast<std::size_t>(size_));
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(kind_.call + static_cast<std::uint64_t>(rank_) + (sent ? 17 : 0));
    if (kind_.call % 2 == 0) std::shuffle(order.begin(), order.end(), random);
    blocks.resize(order.size());
    std::size_t at = 0;
    for (const int peer : order) {
      if (kind_.call % 2 == 0) at += random() % 5;
      const int from = sent ? rank_ : peer, to = sent ? peer : rank_;
      const std::size_t bytes =
          kind_.in_place ? block_bytes(kind_.counts, kind_.call, std::min(from, to), std::max(from, to)) : block_bytes(kind_.counts, kind_.call, from, to);
      blocks[static_cast<std::size_t>(peer)] = {static_cast<std::ptrdiff_t>(at), bytes};
      at += bytes;
    }
    return at;
  }

  Communicator& communicator_;
  VectorCallKind kind_;
  int rank_, size_;
  std::size_t recv_bytes_ = 0;
  std::unique_ptr<DeviceRow> send_, recv_;
  std::unique_ptr<DeviceVectorBuffers> buffers_;
};

}  // namespace crossrail::tests
