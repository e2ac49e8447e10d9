// This is one rank's side of an allgather or a reduce_scatter_block, filled and compared by the definition.
#pragma once

#include <gtest/gtest.h>

#include "tests/collectives/allreduce_case.h"

namespace crossrail::tests {

inline Shape allgather_shape(std::size_t block_bytes) { return {Collective::allgather, Memory::host, false, block_bytes}; }
inline Shape reduce_scatter_shape(std::size_t count, Reduction reduction = {Operation::sum, Element::int32}) {
  Shape shape = allreduce_shape(count, reduction);
  shape.collective = Collective::reduce_scatter_block;
  return shape;
}

// One of the two sides is a block and the other a row of blocks, or, in place, there is one row.
class GatheringCase {
 public:
  GatheringCase(const Topology& topology, const Shape& shape, std::uint64_t call, Side side)
      : rank_(topology.rank), size_(topology.size), shape_(shape), call_(call), side_(side), send_(send_bytes(), call % 3), recv_(recv_bytes(), call % 5) {
    std::memset(send_.data(), 0xDD, send_bytes());
    std::memset(recv_.data(), 0xEE, recv_bytes());
    fill();
    sent_.assign(send_.data(), send_.data() + send_bytes());
    received_.assign(recv_.data(), recv_.data() + recv_bytes());
  }

  Buffers buffers() { return {in_place() ? recv_.data() : send_.data(), recv_.data()}; }
  // A program may do this once the call has returned.
  void overwrite_send() {
    sent_intact_ = same_bytes(sent_.data(), send_.data(), sent_.size());
    std::memset(send_.data(), 0x11, send_bytes());
  }
  // Returns true if no byte was touched.
  bool untouched() { return same_bytes(received_.data(), recv_.data(), received_.size()); }

  // Returns what is wrong, or an empty text.
  std::string wrong() {
    if (!send_.intact() || !recv_.intact()) return "written outside the buffers";
    if (!sent_intact_) return "written into what was sent";
    return gathers() ? wrong_block() : wrong_sum();
  }

 private:
  bool gathers() const { return shape_.collective == Collective::allgather; }
  bool in_place() const { return side_ == Side::in_place; }
  std::size_t block() const { return shape_.block_bytes; }
  std::size_t row() const { return block() * static_cast<std::size_t>(size_); }
  std::size_t send_bytes() const { return in_place() ? 0 : gathers() ? block() : row(); }
  std::size_t recv_bytes() const { return gathers() || in_place() ? row() : block(); }

  void fill() {
    std::byte* const from = in_place() ? recv_.data() : send_.data();
    if (gathers()) return fill_block(from + (in_place() ? static_cast<std::size_t>(rank_) * block() : 0), block(), call_, rank_, 0);
    for (int to = 0; to < size_; ++to) fill_numbers(from + static_cast<std::size_t>(to) * block(), block(), {shape_.reduction, call_, to}, rank_);
  }
  std::string wrong_block() {
    std::vector<std::byte> expected(block());
    for (int peer = 0; peer < size_; ++peer) {
      fill_block(expected.data(), expected.size(), call_, peer, 0);
      if (!same_bytes(expected.data(), recv_.data() + static_cast<std::size_t>(peer) * block(), block())) {
        return "rank " + std::to_string(rank_) + " has a wrong block from rank " + std::to_string(peer);
      }
    }
    return {};
  }
  std::string wrong_sum() {
    const std::string wrong = wrong_number(recv_.data(), block(), {shape_.reduction, call_, rank_}, size_);
    if (!wrong.empty()) return "rank " + std::to_string(rank_) + " has " + wrong;
    return same_bytes(received_.data() + block(), recv_.data() + block(), received_.size() - block()) ? "" : "written behind the result";
  }

  int rank_;
  int size_;
  Shape shape_;
  std::uint64_t call_;
  Side side_;
  Guarded send_;
  Guarded recv_;
  std::vector<std::byte> sent_, received_;
  bool sent_intact_ = true;
};

// Makes one call with fresh data, compared with the definition. A native outcome must have touched nothing.
inline Outcome checked_gathering(Communicator& communicator, const Shape& shape, std::uint64_t call, Side side = Side::apart) {
  GatheringCase one(communicator.topology, shape, call, side);
  const Outcome outcome = run_collective(communicator, shape, one.buffers());
  one.overwrite_send();
  const std::string where = std::string(name_of(shape.collective)) + ", " + communicator.topology.text() + ", blocks of " + std::to_string(shape.block_bytes) +
                            (side == Side::in_place ? " in place" : "") + ", call " + std::to_string(call);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.what << ": " << where;
  if (!outcome.status.ok()) return outcome;
  if (outcome.plan->native()) {
    EXPECT_TRUE(one.untouched()) << "native, but the buffer has changed: " << where;
  } else {
    EXPECT_EQ(one.wrong(), "") << where << " by " << outcome.plan->algorithm;
  }
  return outcome;
}

}  // namespace crossrail::tests
