// This is one rank's side of a gather, a scatter or one of their v forms, filled and compared by the definition.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

#include "tests/collectives/allreduce_case.h"

namespace crossrail::tests {

inline constexpr Collective kRooted[] = {Collective::gather, Collective::gatherv, Collective::scatter, Collective::scatterv};

inline std::string& setting_of(Settings& settings, Collective rooted) {
  switch (rooted) {
    case Collective::gather: return settings.gather;
    case Collective::gatherv: return settings.gatherv;
    case Collective::scatter: return settings.scatter;
    default: return settings.scatterv;
  }
}

struct RootedCall {
  Collective collective;
  std::size_t bytes;  // It is of a block; in v forms it is of the longest.
  int root;
  std::uint64_t number;
  Side side = Side::apart;  // It is the root's.

  bool has_counts() const { return row_of(collective).counts == crossrail::Counts::vector; }
  Shape shape() const {
    Shape shape{collective, Memory::host, false, has_counts() ? 0 : bytes};
    shape.root = root;
    return shape;
  }
  // Returns the length of the block between the root and `rank`. Every fourth one of a v form is empty.
  std::size_t length(int rank) const {
    if (!has_counts() || bytes == 0) return bytes;
    std::mt19937_64 random(number * 1'000'003 + static_cast<std::uint64_t>(rank));
    random.discard(3);
    return random() % 4 == 0 ? 0 : number % 5 == 0 ? bytes : random() % bytes + 1;
  }
};

// This is what this rank's two sides hold before the call, and what the receiving one is to hold after it.
class RootedCase {
 public:
  RootedCase(const Topology& topology, const RootedCall& call) : rank_(topology.rank), size_(topology.size), call_(call) {
    const bool is_root = rank_ == call.root, in_place = is_root && call.side == Side::in_place;
    const std::size_t row_bytes = lay_out();
    const std::size_t own_bytes = in_place ? 0 : call.length(rank_);
    const bool gathers = root_receives(call.collective);
    send.assign(gathers ? own_bytes : is_root ? row_bytes : 0, std::byte{0xDD});
    recv.assign(gathers ? (is_root ? row_bytes : 0) : own_bytes, std::byte{0xEE});
    out.resize(static_cast<std::size_t>(size_));
    in.resize(static_cast<std::size_t>(size_));
    (gathers ? out : in)[static_cast<std::size_t>(call.root)] = {0, own_bytes};
    if (is_root) (gathers ? in : out) = row_;
    if (in_place) (gathers ? in : out)[static_cast<std::size_t>(rank_)].bytes = 0;
    fill(gathers, is_root, in_place);
  }

  std::vector<Block> out, in;
  std::vector<std::byte> send, recv, expected;

 private:
  // Lays out the root's row. Blocks are in the order of the ranks; those of v forms are in an order of their own, with gaps between them.
  std::size_t lay_out() {
    std::vector<int> order(static_cast<std::size_t>(size_));
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(call_.number);
    const bool mixed = call_.has_counts() && call_.number % 2 == 0;
    if (mixed) std::shuffle(order.begin(), order.end(), random);
    row_.resize(order.size());
    std::size_t at = 0;
    for (const int rank : order) {
      if (mixed) at += random() % 5;
      row_[static_cast<std::size_t>(rank)] = {static_cast<std::ptrdiff_t>(at), call_.length(rank)};
      at += call_.length(rank);
    }
    return at;
  }
  void fill_row(std::vector<std::byte>& side, bool gathers) const {
    for (int rank = 0; rank < size_; ++rank) {
      const Block& block = row_[static_cast<std::size_t>(rank)];
      fill_block(side.data() + block.offset, block.bytes, call_.number, gathers ? rank : call_.root, gathers ? call_.root : rank);
    }
  }
  void fill(bool gathers, bool is_root, bool in_place) {
    if (gathers) {
      const Block& own = row_[static_cast<std::size_t>(rank_)];
      std::byte* const from = in_place ? recv.data() + own.offset : send.data();
      fill_block(from, own.bytes, call_.number, rank_, call_.root);
      expected = recv;
      if (is_root) fill_row(expected, true);
    } else {
      if (is_root) fill_row(send, false);
      expected = recv;
      fill_block(expected.data(), expected.size(), call_.number, call_.root, rank_);
    }
  }

  int rank_, size_;
  RootedCall call_;
  std::vector<Block> row_;
};

inline std::string text_of(const RootedCall& call, const Topology& topology) {
  return std::string(name_of(call.collective)) + ", " + topology.text() + ", rank " + std::to_string(topology.rank) + ", root " + std::to_string(call.root) +
         ", " + std::to_string(call.bytes) + " bytes" + (call.side == Side::in_place ? " in place" : "") + ", call " + std::to_string(call.number);
}

// Makes one call with fresh data, compared with the definition. A native outcome must have touched nothing.
inline Outcome checked_rooted(Communicator& communicator, const RootedCall& call) {
  const RootedCase one(communicator.topology, call);
  Guarded send(one.send.size(), call.number % 3), recv(one.recv.size(), call.number % 5);
  copy_block(send.data(), one.send.data(), one.send.size());
  copy_block(recv.data(), one.recv.data(), one.recv.size());
  const bool in_place = call.side == Side::in_place && communicator.topology.rank == call.root;
  Buffers buffers{send.data(), one.recv.empty() ? nullptr : recv.data()};
  if (in_place && !call.has_counts() && root_receives(call.collective)) buffers.send = buffers.recv;
  if (call.has_counts()) buffers.out = one.out.data(), buffers.in = one.in.data();
  const Outcome outcome = run_collective(communicator, call.shape(), buffers);
  const std::string where = text_of(call, communicator.topology);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.what << ": " << where;
  if (!outcome.status.ok()) return outcome;
  EXPECT_TRUE(same_bytes(one.send.data(), send.data(), one.send.size())) << "written into what was sent: " << where;
  std::memset(send.data(), 0x11, one.send.size());  // A program may do this.
  EXPECT_TRUE(send.intact() && recv.intact()) << "written outside the buffers: " << where;
  const std::vector<std::byte>& expected = outcome.plan->native() ? one.recv : one.expected;
  EXPECT_TRUE(same_bytes(expected.data(), recv.data(), expected.size())) << "wrong bytes: " << where << " by " << outcome.plan->algorithm;
  return outcome;
}

}  // namespace crossrail::tests
