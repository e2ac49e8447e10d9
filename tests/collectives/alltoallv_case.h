// This is one rank's side of an alltoallv: blocks of any length anywhere in the buffers, filled and compared by the definition.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/collectives/alltoall_case.h"

namespace crossrail::tests {

inline constexpr Shape kVectorShape{Collective::alltoallv, Memory::host, false, 0};

// This says how long the block from one rank to another is in a call. It is the same on every rank.
enum class Counts { uniform, empty, random, sparse, long_blocks, one_row, one_column, around_limits };
inline constexpr Counts kCounts[] = {Counts::uniform, Counts::empty,   Counts::random,     Counts::sparse,
                                     Counts::long_blocks, Counts::one_row, Counts::one_column, Counts::around_limits};

inline std::size_t block_bytes(Counts counts, std::uint64_t call, int source, int destination) {
  constexpr std::size_t kUniform[] = {1, 8, 24, 200, 3000, 9000, 20'000};
  constexpr std::size_t kLimits[] = {0, 55, 56, 57, 1023, 1024, 1025, 4095, 4096, 4097, 8191, 8192, 8193};
  std::mt19937_64 random(call * 1'000'003 + static_cast<std::uint64_t>(source * 1009 + destination));
  random.discard(3);
  switch (counts) {
    case Counts::uniform: return kUniform[call % std::size(kUniform)];
    case Counts::empty: return 0;
    case Counts::random: return random() % 300;
    case Counts::sparse: return random() % 8 == 0 ? random() % 2000 : 0;
    case Counts::long_blocks: return random() % 3 == 0 ? 8193 + random() % 30'000 : random() % 100;
    case Counts::one_row: return source == static_cast<int>(call % 3) ? random() % 900 : 0;
    case Counts::one_column: return destination == static_cast<int>(call % 3) ? random() % 900 : 0;
    case Counts::around_limits: return kLimits[random() % std::size(kLimits)];
  }
  return 0;
}

class AlltoallvCase {
 public:
  AlltoallvCase(const Topology& topology, Counts counts, std::uint64_t call)
      : rank_(topology.rank), size_(topology.size), counts_(counts), call_(call) {
    const std::size_t send_bytes = place(out_, true), recv_bytes = place(in_, false);
    send_ = std::make_unique<Guarded>(send_bytes, call % 3);
    recv_ = std::make_unique<Guarded>(recv_bytes, call % 5);
    std::memset(send_->data(), 0x77, send_bytes);
    std::memset(recv_->data(), 0xEE, recv_bytes);
    recv_bytes_ = recv_bytes;
    send_bytes_ = send_bytes;
    for (int peer = 0; peer < size_; ++peer) {
      const Block& block = out_[static_cast<std::size_t>(peer)];
      fill_block(send_->data() + block.offset, block.bytes, call, rank_, peer);
    }
  }

  Buffers buffers() { return {send_->data(), recv_->data(), out_.data(), in_.data()}; }
  void overwrite_send() { std::memset(send_->data(), 0x11, send_bytes_); }

  // Returns what is wrong, or an empty text. Gaps between the blocks must be as they were.
  std::string wrong() {
    if (!send_->intact() || !recv_->intact()) return "written outside the buffers";
    std::vector<std::byte> expected(recv_bytes_, std::byte{0xEE});
    for (int peer = 0; peer < size_; ++peer) {
      const Block& block = in_[static_cast<std::size_t>(peer)];
      fill_block(expected.data() + block.offset, block.bytes, call_, peer, rank_);
      if (!same_bytes(expected.data() + block.offset, recv_->data() + block.offset, block.bytes)) {
        return "rank " + std::to_string(rank_) + " has a wrong block of " + std::to_string(block.bytes) + " bytes from rank " + std::to_string(peer);
      }
    }
    return same_bytes(expected.data(), recv_->data(), expected.size()) ? "" : "written between the blocks";
  }
  bool untouched() {
    return same_bytes(std::vector<std::byte>(recv_bytes_, std::byte{0xEE}).data(), recv_->data(), recv_bytes_);
  }

 private:
  // Places blocks in an order of their own, with gaps, and in every other call in rank order without gaps.
  std::size_t place(std::vector<Block>& blocks, bool sent) {
    std::vector<int> order(static_cast<std::size_t>(size_));
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(call_ + static_cast<std::uint64_t>(rank_) + (sent ? 17 : 0));
    if (call_ % 2 == 0) std::shuffle(order.begin(), order.end(), random);
    blocks.resize(order.size());
    std::size_t at = 0;
    for (const int peer : order) {
      if (call_ % 2 == 0) at += random() % 5;
      const std::size_t bytes = sent ? block_bytes(counts_, call_, rank_, peer) : block_bytes(counts_, call_, peer, rank_);
      blocks[static_cast<std::size_t>(peer)] = {static_cast<std::ptrdiff_t>(at), bytes};
      at += bytes;
    }
    return at;
  }

  int rank_;
  int size_;
  Counts counts_;
  std::uint64_t call_;
  std::vector<Block> out_, in_;
  std::unique_ptr<Guarded> send_, recv_;
  std::size_t send_bytes_ = 0, recv_bytes_ = 0;
};

// Makes one call with fresh data, compared with the definition. Returns false after an error.
inline bool checked_vector_call(Communicator& communicator, Counts counts, std::uint64_t call) {
  AlltoallvCase one(communicator.topology, counts, call);
  const Outcome outcome = run_collective(communicator, kVectorShape, one.buffers());
  one.overwrite_send();
  const std::string where = communicator.settings.alltoallv + ", " + communicator.topology.text() + ", counts " +
                            std::to_string(static_cast<int>(counts)) + ", call " + std::to_string(call);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.what << ": " << where;
  if (!outcome.status.ok()) return false;
  if (outcome.plan->native()) {
    EXPECT_TRUE(one.untouched()) << where;
  } else {
    EXPECT_EQ(one.wrong(), "") << where << " by " << outcome.plan->algorithm;
  }
  return !testing::Test::HasFailure();
}

}  // namespace crossrail::tests
