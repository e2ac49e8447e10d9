// One rank's side of an allreduce, filled and compared by the definition: every rank has, at each place, the elements of all ranks
// combined. Whole numbers throughout, so that no order of combining is the only right one; where order shows, ranks are compared
// with each other.
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

// The buffers of one rank for one call, with fresh data. Elements: int32 or float64.
class AllreduceCase {
 public:
  AllreduceCase(const Topology& topology, const Shape& shape, std::uint64_t call, Side side)
      : rank_(topology.rank), size_(topology.size), shape_(shape), call_(call), side_(side), send_(shape.block_bytes, call % 3), recv_(shape.block_bytes, call % 5) {
    std::memset(recv_.data(), 0xEE, shape.block_bytes);
    std::memset(send_.data(), 0xDD, shape.block_bytes);
    std::byte* const from = in_place() ? recv_.data() : send_.data();
    for (std::size_t place = 0; place < count(); ++place) store(from, place, number(rank_, place));
    sent_.assign(send_.data(), send_.data() + shape.block_bytes);
  }

  Buffers buffers() { return {in_place() ? recv_.data() : send_.data(), recv_.data()}; }
  // As a program may do once the call has returned.
  void overwrite_send() {
    sent_intact_ = std::equal(sent_.begin(), sent_.end(), send_.data());
    std::memset(send_.data(), 0x11, shape_.block_bytes);
  }

  // Empty, or what is wrong.
  std::string wrong() {
    if (!send_.intact() || !recv_.intact()) return "written outside the buffers";
    if (!sent_intact_) return "written into what was sent";
    for (std::size_t place = 0; place < count(); ++place) {
      const std::int64_t found = load(recv_.data(), place), wanted = expected(place);
      if (found != wanted) {
        return "rank " + std::to_string(rank_) + " has " + std::to_string(found) + " at " + std::to_string(place) + " of " +
               std::to_string(count()) + ", not " + std::to_string(wanted);
      }
    }
    return {};
  }
  // True if no byte was touched.
  bool untouched() {
    const Topology alone = topology_from_nodes(Nodes(static_cast<std::size_t>(size_), 0), rank_);
    AllreduceCase fresh(alone, shape_, call_, side_);
    return std::equal(fresh.recv_.data(), fresh.recv_.data() + shape_.block_bytes, recv_.data());
  }

 private:
  bool in_place() const { return side_ == Side::in_place; }
  bool whole() const { return shape_.reduction.element == Element::int32; }
  std::size_t count() const { return shape_.block_bytes / bytes_of(shape_.reduction.element); }
  // Small: sums of a few are exact in a double, and products of as many wrap.
  std::int64_t number(int rank, std::size_t place) const {
    const std::uint64_t mixed = mix_word(call_ * 1024 + static_cast<std::uint64_t>(rank), place);
    return static_cast<std::int64_t>(mixed >> 50) - 8192;
  }
  void store(std::byte* base, std::size_t place, std::int64_t value) const {
    const auto integer = static_cast<std::int32_t>(value);
    const auto real = static_cast<double>(value);
    if (whole()) std::memcpy(base + place * sizeof integer, &integer, sizeof integer);
    else std::memcpy(base + place * sizeof real, &real, sizeof real);
  }
  std::int64_t load(const std::byte* base, std::size_t place) const {
    std::int32_t integer = 0;
    double real = 0;
    if (whole()) std::memcpy(&integer, base + place * sizeof integer, sizeof integer);
    else std::memcpy(&real, base + place * sizeof real, sizeof real);
    return whole() ? integer : static_cast<std::int64_t>(real);
  }
  std::int64_t expected(std::size_t place) const {
    std::int64_t value = number(0, place);
    for (int rank = 1; rank < size_; ++rank) {
      const std::int64_t its = number(rank, place);
      switch (shape_.reduction.operation) {
        case Operation::sum: value += its; break;
        case Operation::product: value = static_cast<std::int32_t>(static_cast<std::uint32_t>(value) * static_cast<std::uint32_t>(its)); break;
        case Operation::minimum: value = std::min(value, its); break;
        case Operation::maximum: value = std::max(value, its); break;
        case Operation::bitwise_xor: value ^= its; break;
        default: ADD_FAILURE();
      }
    }
    return value;
  }

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

// One call with fresh data, compared with the definition. A native outcome must have touched nothing.
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
