// This is one rank's side of an allreduce, filled and compared by the definition: every rank has, at each place, the elements of all ranks combined.
// Where the order of combining shows, ranks are compared with each other.
#pragma once

#include <gtest/gtest.h>

#include "tests/collectives/alltoall_case.h"

namespace crossrail::tests {

inline Shape allreduce_shape(std::size_t count, Reduction reduction = {Operation::sum, Element::int32}) {
  Shape shape{Collective::allreduce, Memory::host, false, count * bytes_of(reduction.element)};
  shape.reduction = reduction;
  return shape;
}

enum class Side : std::uint8_t { apart, in_place };

// These are the buffers of one rank for one call, with fresh data. Elements are int32 or float64.
class AllreduceCase {
 public:
  AllreduceCase(const Topology& topology, const Shape& shape, std::uint64_t call, Side side)
      : rank_(topology.rank), size_(topology.size), shape_(shape), call_(call), side_(side), send_(shape.block_bytes, call % 3), recv_(shape.block_bytes, call % 5) {
    std::memset(recv_.data(), 0xEE, shape.block_bytes);
    std::memset(send_.data(), 0xDD, shape.block_bytes);
    std::byte* const from = in_place() ? recv_.data() : send_.data();
    fill_numbers(from, shape.block_bytes, numbers(), rank_);
    sent_.assign(send_.data(), send_.data() + shape.block_bytes);
  }

  Buffers buffers() { return {in_place() ? recv_.data() : send_.data(), recv_.data()}; }
  // A program may do this once the call has returned.
  void overwrite_send() {
    sent_intact_ = same_bytes(sent_.data(), send_.data(), sent_.size());
    std::memset(send_.data(), 0x11, shape_.block_bytes);
  }

  // Returns what is wrong, or an empty text.
  std::string wrong() {
    if (!send_.intact() || !recv_.intact()) return "written outside the buffers";
    if (!sent_intact_) return "written into what was sent";
    const std::string wrong = wrong_number(recv_.data(), shape_.block_bytes, numbers(), size_);
    return wrong.empty() ? wrong : "rank " + std::to_string(rank_) + " has " + wrong;
  }
  // Returns true if no byte was touched.
  bool untouched() {
    const Topology alone = topology_from_nodes(Nodes(static_cast<std::size_t>(size_), 0), rank_);
    AllreduceCase fresh(alone, shape_, call_, side_);
    return same_bytes(fresh.recv_.data(), recv_.data(), shape_.block_bytes);
  }

 private:
  bool in_place() const { return side_ == Side::in_place; }
  Numbers numbers() const { return {shape_.reduction, call_}; }

  int rank_;
  int size_;
  Shape shape_;
  std::uint64_t call_;
  Side side_;
  Guarded send_;
  Guarded recv_;
  std::vector<std::byte> sent_;
  bool sent_intact_ = true;
};

// Makes one call with fresh data, compared with the definition. A native outcome must have touched nothing.
inline Outcome checked_allreduce(Communicator& communicator, const Shape& shape, std::uint64_t call, Side side = Side::apart) {
  AllreduceCase one(communicator.topology, shape, call, side);
  const Outcome outcome = run_collective(communicator, shape, one.buffers());
  one.overwrite_send();
  const std::string where = communicator.settings.allreduce + ", " + communicator.topology.text() + ", " + name_of(shape.reduction.operation) + " of " +
                            std::to_string(shape.block_bytes) + " bytes" + (side == Side::in_place ? " in place" : "") + ", call " + std::to_string(call);
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
