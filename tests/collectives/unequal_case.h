// This is one rank's side of an allgatherv or a reduce_scatter, filled and compared by the definition: blocks of several lengths, which all ranks
// know.
#pragma once

#include <memory>

#include "tests/collectives/alltoallv_case.h"
#include "tests/collectives/gathering_case.h"

namespace crossrail::tests {

inline constexpr Collective kUnequalCollectives[] = {Collective::allgatherv, Collective::reduce_scatter};

struct UnequalCall {
  Collective collective;
  Counts counts;
  std::uint64_t call;
  Side side = Side::apart;
  bool gathers() const { return collective == Collective::allgatherv; }
  bool in_place() const { return side == Side::in_place; }
  Reduction reduction() const {
    constexpr Reduction kReductions[] = {{Operation::sum, Element::int32}, {Operation::sum, Element::float64}, {Operation::maximum, Element::int32}};
    return gathers() ? Reduction{} : kReductions[call % std::size(kReductions)];
  }
  std::size_t bytes_of(int rank) const {
    const std::size_t bytes = block_bytes(counts, call, rank, rank), element = gathers() ? 1 : crossrail::bytes_of(reduction().element);
    return bytes / element * element;
  }
  std::string text() const {
    return std::string(name_of(collective)) + ", counts " + std::to_string(static_cast<int>(counts)) + ", call " + std::to_string(call) +
           (in_place() ? " in place" : "");
  }
};

// This says where the blocks of a call lie, and its Shape.
struct UnequalLayout {
  UnequalLayout(const Topology& topology, const UnequalCall& call) : blocks(static_cast<std::size_t>(topology.size)) {
    std::vector<int> order(blocks.size());
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(call.call + static_cast<std::uint64_t>(topology.rank));
    const bool apart = call.gathers() && call.call % 2 == 0;  // Then they are in an order of their own, with gaps.
    if (apart) std::shuffle(order.begin(), order.end(), random);
    std::uint64_t all = 0;
    for (const int rank : order) {
      if (apart) row += random() % 5;
      const std::size_t length = call.bytes_of(rank);
      blocks[static_cast<std::size_t>(rank)] = {static_cast<std::ptrdiff_t>(row), length};
      row += length, all += length;
    }
    own = blocks[static_cast<std::size_t>(topology.rank)].bytes;
    shape = {call.collective, Memory::host, false, mean_class(all, topology.size)};
    shape.reduction = call.reduction();
  }
  std::vector<Block> blocks;
  std::size_t row = 0, own = 0;  // These are the bytes of all, with gaps, and of this rank's.
  Shape shape;
};

class UnequalCase {
 public:
  UnequalCase(const Topology& topology, const UnequalCall& call)
      : call_(call), rank_(topology.rank), size_(topology.size), layout_(topology, call), only_(layout_.blocks.size()),
        send_(send_bytes(), call.call % 3), recv_(recv_bytes(), call.call % 5) {
    std::memset(send_.data(), 0xDD, send_bytes());
    std::memset(recv_.data(), 0xEE, recv_bytes());
    only_[static_cast<std::size_t>(rank_)] = {call.in_place() ? own().offset : 0, own().bytes};
    fill();
    sent_.assign(send_.data(), send_.data() + send_bytes());
    received_.assign(recv_.data(), recv_.data() + recv_bytes());
  }

  const UnequalLayout& layout() const { return layout_; }
  std::size_t send_bytes() const { return call_.in_place() ? 0 : call_.gathers() ? layout_.own : layout_.row; }
  std::size_t recv_bytes() const { return call_.gathers() || call_.in_place() ? layout_.row : layout_.own; }
  Buffers buffers() {
    std::byte* const from = call_.in_place() ? recv_.data() : send_.data();
    if (call_.gathers()) return {from, recv_.data(), only_.data(), layout_.blocks.data()};
    return {from, recv_.data(), layout_.blocks.data()};
  }
  void overwrite_send() {
    sent_intact_ = same_bytes(sent_.data(), send_.data(), sent_.size());
    std::memset(send_.data(), 0x11, send_bytes());
  }
  bool untouched() { return same_bytes(received_.data(), recv_.data(), received_.size()); }

  // Returns what is wrong, or an empty text.
  std::string wrong() {
    if (!send_.intact() || !recv_.intact()) return "written outside the buffers";
    if (!sent_intact_) return "written into what was sent";
    const std::string wrong = call_.gathers() ? wrong_blocks() : wrong_sum();
    return wrong.empty() ? wrong : "rank " + std::to_string(rank_) + " has " + wrong;
  }

 private:
  const Block& own() const { return layout_.blocks[static_cast<std::size_t>(rank_)]; }

  void fill() {
    std::byte* const from = call_.in_place() ? recv_.data() : send_.data();
    if (call_.gathers()) return fill_block(from + only_[static_cast<std::size_t>(rank_)].offset, own().bytes, call_.call, rank_, 0);
    for (int to = 0; to < size_; ++to) {
      const Block& block = layout_.blocks[static_cast<std::size_t>(to)];
      fill_numbers(from + block.offset, block.bytes, {layout_.shape.reduction, call_.call, to}, rank_);
    }
  }
  // Gaps between the blocks must be as they were.
  std::string wrong_blocks() {
    std::vector<std::byte> expected = received_;
    for (int peer = 0; peer < size_; ++peer) {
      const Block& block = layout_.blocks[static_cast<std::size_t>(peer)];
      fill_block(expected.data() + block.offset, block.bytes, call_.call, peer, 0);
      if (!same_bytes(expected.data() + block.offset, recv_.data() + block.offset, block.bytes)) return "a wrong block from rank " + std::to_string(peer);
    }
    return same_bytes(expected.data(), recv_.data(), expected.size()) ? "" : "something between the blocks";
  }
  std::string wrong_sum() {
    const std::string wrong = wrong_number(recv_.data(), layout_.own, {layout_.shape.reduction, call_.call, rank_}, size_);
    if (!wrong.empty()) return wrong;
    return same_bytes(received_.data() + layout_.own, recv_.data() + layout_.own, received_.size() - layout_.own) ? "" : "something behind the result";
  }

  UnequalCall call_;
  int rank_, size_;
  UnequalLayout layout_;
  std::vector<Block> only_;  // It is the side that an allgatherv sends.
  Guarded send_, recv_;
  std::vector<std::byte> sent_, received_;
  bool sent_intact_ = true;
};

// Makes one call with fresh data, compared with the definition. A native outcome must have touched nothing.
inline Outcome checked_unequal(Communicator& communicator, const UnequalCall& call) {
  UnequalCase one(communicator.topology, call);
  const Outcome outcome = run_collective(communicator, one.layout().shape, one.buffers());
  one.overwrite_send();
  const std::string where = communicator.topology.text() + ", " + call.text();
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
