// This is one rank's side of an alltoall, filled and compared by the definition: what rank i receives at place j is what rank j has at place i.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "collectives/algorithm.h"
#include "tests/collectives/data.h"
#include "virtual_world/thread_world.h"

namespace crossrail::tests {

using Nodes = std::vector<int>;

// These worlds are worth trying, and every algorithm must be right on them wherever it fits. Under sanitizers, where everything takes many times as
// long, there is one of each kind: alone, a power of two and not, unequal nodes, interleaved ones, a rank a node.
inline const std::vector<Nodes>& worlds() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  static const std::vector<Nodes> all = {{0}, {0, 0}, {0, 0, 0}, {0, 0, 0, 0, 0}, {0, 0, 0, 1, 1, 2, 2, 2}, {0, 1, 0, 1, 0}, {0, 1, 2, 3}};
#else
  static const std::vector<Nodes> all = {{0},
                                         {0, 0},
                                         {0, 0, 0},
                                         {0, 0, 0, 0},
                                         {0, 0, 0, 0, 0},
                                         {0, 0, 0, 0, 0, 0, 0},
                                         {0, 0, 0, 0, 0, 0, 0, 0},
                                         {0, 0, 0, 1, 1, 2, 2, 2},
                                         {0, 1, 0, 1, 0},
                                         {0, 1, 2, 3},
                                         {0, 0, 0, 0, 1, 1, 1, 1, 1},
                                         {0, 1, 2, 3, 4, 0, 1, 2, 3},
                                         {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5},
                                         {0, 1, 2, 3, 4, 5, 6, 7}};
#endif
  return all;
}

// These are values of settings.scratch_bytes: too few for all, for some, for parts of large calls.
inline const std::vector<std::uint64_t>& little_scratch() {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  static const std::vector<std::uint64_t> all = {0, 4096, 400'000};
#else
  static const std::vector<std::uint64_t> all = {0, 100, 4096, 65536, 300'000, 400'000, 1'000'000};
#endif
  return all;
}

inline std::string text_of(const Nodes& nodes) {
  std::string text;
  for (const int node : nodes) text += (text.empty() ? "" : ",") + std::to_string(node);
  return text;
}

// Returns the calls of a test that asks for one row. Where it does not fit another carries them, and those are tried in that one's turn.
inline std::uint64_t calls_of(const Algorithm& row, const Communicator& communicator, const Shape& shape, std::uint64_t many) {
  return row.fits(communicator.topology, shape) ? many : std::min<std::uint64_t>(many, 4);
}

inline Shape alltoall_shape(std::size_t block_bytes, bool in_place = false) {
  return {Collective::alltoall, Memory::host, in_place, block_bytes};
}

// This is memory between guard zones, at an odd address now and then.
class Guarded {
 public:
  Guarded(std::size_t bytes, std::size_t shift) : bytes_(bytes), begin_(kGuard + shift) {
    memory_.assign(begin_ + bytes + kGuard, kMark);
  }
  std::byte* data() { return memory_.data() + begin_; }
  bool intact() const {
    static const std::vector<std::byte> marks(kGuard + kMostShift, kMark);
    return same_bytes(memory_.data(), marks.data(), begin_) && same_bytes(memory_.data() + begin_ + bytes_, marks.data(), kGuard);
  }

 private:
  static constexpr std::size_t kGuard = 128, kMostShift = 64;
  static constexpr std::byte kMark{0xA5};
  std::size_t bytes_;
  std::size_t begin_;
  std::vector<std::byte> memory_;
};

// These are the buffers of one rank for one call, with fresh data.
class AlltoallCase {
 public:
  AlltoallCase(const Topology& topology, const Shape& shape, std::uint64_t call)
      : rank_(topology.rank),
        size_(topology.size),
        shape_(shape),
        call_(call),
        send_(row_bytes(), call % 3),
        recv_(row_bytes(), call % 5) {
    std::memset(recv_.data(), 0xEE, row_bytes());
    std::byte* const from = shape.in_place ? recv_.data() : send_.data();
    for (int peer = 0; peer < size_; ++peer) fill_block(from + peer * shape_.block_bytes, shape_.block_bytes, call, rank_, peer);
  }

  Buffers buffers() { return {shape_.in_place ? recv_.data() : send_.data(), recv_.data()}; }
  // A program may do this once the call has returned.
  void overwrite_send() { std::memset(send_.data(), 0x11, row_bytes()); }

  // Returns what is wrong, or an empty text.
  std::string wrong() {
    if (!send_.intact() || !recv_.intact()) return "written outside the buffers";
    std::vector<std::byte> expected(shape_.block_bytes);
    for (int peer = 0; peer < size_; ++peer) {
      fill_block(expected.data(), expected.size(), call_, peer, rank_);
      if (!same_bytes(expected.data(), recv_.data() + peer * shape_.block_bytes, expected.size())) {
        return "rank " + std::to_string(rank_) + " has a wrong block from rank " + std::to_string(peer);
      }
    }
    return {};
  }
  // Returns true if no byte was touched.
  bool untouched() {
    const Topology alone = topology_from_nodes(Nodes(static_cast<std::size_t>(size_), 0), rank_);
    AlltoallCase fresh(alone, shape_, call_);
    return same_bytes(fresh.recv_.data(), recv_.data(), row_bytes());
  }
  // Returns whether the MPI library can do the call again.
  bool can_be_sent_again() {
    const Topology alone = topology_from_nodes(Nodes(static_cast<std::size_t>(size_), 0), rank_);
    AlltoallCase fresh(alone, shape_, call_);
    fresh.rank_ = rank_;
    return !shape_.in_place && same_bytes(fresh.send_.data(), send_.data(), row_bytes());
  }

 private:
  std::size_t row_bytes() const { return shape_.block_bytes * static_cast<std::size_t>(size_); }
  int rank_;
  int size_;
  Shape shape_;
  std::uint64_t call_;
  Guarded send_;
  Guarded recv_;
};

// Makes one call with fresh data, compared with the definition. A native outcome must have touched nothing.
inline Outcome checked_call(Communicator& communicator, const Shape& shape, std::uint64_t call) {
  AlltoallCase one(communicator.topology, shape, call);
  const Outcome outcome = run_collective(communicator, shape, one.buffers());
  one.overwrite_send();
  const std::string where = communicator.settings.alltoall + ", " + communicator.topology.text() + ", blocks of " +
                            std::to_string(shape.block_bytes) + (shape.in_place ? " in place" : "") + ", call " +
                            std::to_string(call);
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
