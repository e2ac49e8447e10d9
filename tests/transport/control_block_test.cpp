#include "transport/control_block.h"

#include <gtest/gtest.h>

#include <thread>

#include "virtual_world/thread_world.h"

namespace crossrail::tests {
namespace {

virtual_world::WorldOptions impatient() {
  virtual_world::WorldOptions options;
  options.settings.patience_ms = 30;
  return options;
}

TEST(Layout, stays_within_the_scratch) {
  for (const int node_size : {1, 2, 3, 8, 56, 64, 256}) {
    for (std::uint64_t scratch = 1 << 16; scratch <= std::uint64_t{1} << 30; scratch = scratch * 5 / 2) {
      const ControlBlockLayout layout = control_block_layout(node_size, scratch);
      EXPECT_EQ(layout.node_size, node_size);
      EXPECT_EQ(layout.bulk_bytes % kPageBytes, 0u);
      const std::uint64_t flags = round_up(kCacheLineBytes + node_size * sizeof(RankLines), kPageBytes);
      EXPECT_LE(layout.total_bytes(), scratch + flags + 2 * kPageBytes)
          << node_size << " ranks, " << scratch << " bytes";
    }
  }
}

TEST(Layout, ranks_of_large_nodes_stage_blocks_as_long) {
  EXPECT_EQ(useful_scratch_bytes(2), std::uint64_t{64} << 20);
  for (const int node_size : {56, 64, 128, 192, 256}) {
    const ControlBlockLayout layout = control_block_layout(node_size, useful_scratch_bytes(node_size));
    EXPECT_GE(layout.bulk_bytes / static_cast<std::size_t>(node_size), 4096u) << node_size << " ranks";
  }
}

TEST(Layout, regions_lie_apart_and_inside) {
  const int ranks = 3;
  virtual_world::world(std::vector<int>(ranks, 0), {}, [](Communicator& communicator) {
    ControlBlock& control = *communicator.slot().control;
    const ControlBlockLayout& layout = control.layout();
    auto* const first = reinterpret_cast<std::byte*>(&control.lines(0)) - kCacheLineBytes;
    std::byte* end = reinterpret_cast<std::byte*>(&control.lines(ranks));
    for (int half = 0; half < 2; ++half) {
      for (int rank = 0; rank < ranks; ++rank) {
        auto* const packets = reinterpret_cast<std::byte*>(control.packets(half, rank, layout.packet_count));
        EXPECT_GE(packets, end);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(packets) % kCacheLineBytes, 0u);
        end = packets + layout.packet_count * sizeof(Packet);
      }
    }
    for (int half = 0; half < 2; ++half) {
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_GE(control.bulk(half, rank), end);
        end = control.bulk(half, rank) + layout.bulk_bytes;
      }
    }
    EXPECT_LE(end, first + layout.total_bytes());
  });
}

TEST(Flag, differs_by_epoch_and_by_shape) {
  virtual_world::world({0, 0}, {}, [](Communicator& communicator) {
    ControlBlock& control = *communicator.slot().control;
    control.begin_call(0x1111, 1);
    const std::uint64_t one = control.flag(5), next = control.flag(6);
    control.begin_call(0x2222, 1);
    EXPECT_NE(one, next);
    EXPECT_NE(one, control.flag(5));
    EXPECT_EQ(control.next_epoch(), 1u);
    EXPECT_EQ(control.next_epoch(), 2u);
  });
}

TEST(Agree, gives_the_worst_code_to_all_many_times) {
  virtual_world::world({0, 0, 0, 0}, {}, [](Communicator& communicator) {
    for (int round = 0; round < 500; ++round) {
      const bool bad = round % 3 == 0 && communicator.topology.rank == round % 4;
      Code worst = Code::system;
      ASSERT_TRUE(communicator.slot().control->agree(bad ? Code::no_memory : Code::ok, worst).ok());
      EXPECT_EQ(worst, round % 3 == 0 ? Code::no_memory : Code::ok) << round;
    }
  });
}

TEST(Diagnose, a_late_rank_is_waited_for) {
  virtual_world::world({0, 0}, impatient(), [](Communicator& communicator) {
    communicator.slot().control->begin_call(1, 1);
    if (communicator.topology.rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(150));
    Code worst = Code::ok;
    EXPECT_TRUE(communicator.slot().control->agree(Code::ok, worst).ok());
  });
}

TEST(Diagnose, another_shape_in_the_same_call) {
  virtual_world::world({0, 0}, impatient(), [](Communicator& communicator) {
    ControlBlock& control = *communicator.slot().control;
    const int rank = communicator.topology.rank;
    control.begin_call(static_cast<std::uint64_t>(1 + rank), static_cast<std::uint64_t>(100 + rank));
    const Status status = control.await(1 - rank, [] { return false; });
    EXPECT_TRUE(status.code == Code::mismatch || status.code == Code::broken) << status.what;
    EXPECT_TRUE(control.broken_up());
  });
}

TEST(Diagnose, a_rank_that_is_ahead_without_having_answered) {
  virtual_world::world({0, 0}, impatient(), [](Communicator& communicator) {
    ControlBlock& control = *communicator.slot().control;
    control.begin_call(1, 100);
    if (communicator.topology.rank == 0) {
      EXPECT_EQ(control.await(1, [] { return false; }).code, Code::mismatch);
      return;
    }
    control.begin_call(1, 100);
    control.begin_call(1, 100);
    while (!control.broken_up()) std::this_thread::yield();
  });
}

// Rank 1 makes one more call between two of the slot than rank 0, who waits for it.
TEST(Diagnose, a_rank_that_has_left_a_call) {
  for (const bool refused : {false, true}) {
    virtual_world::world({0, 0}, impatient(), [&](Communicator& communicator) {
      ControlBlock& control = *communicator.slot().control;
      const bool first = communicator.topology.rank == 0;
      control.leave_call();  // It is not counted before the first call.
      if (first) control.leave_call();
      control.begin_call(1, 1);
      Code worst = Code::ok;
      EXPECT_TRUE(communicator.slot().links->agree(Code::ok, worst).ok());
      control.leave_call();
      if (!first) control.leave_call();
      if (!first && refused) control.take_back();
      if (!first && refused) std::this_thread::sleep_for(std::chrono::milliseconds(150));
      while (!first && !refused && !control.broken_up()) std::this_thread::yield();
      control.begin_call(1, 1);
      EXPECT_EQ(control.agree(Code::ok, worst).code, first && !refused ? Code::mismatch : Code::ok);
      EXPECT_EQ(control.judge().code, refused ? Code::ok : Code::given_back);
    });
  }
}

// There are more of them than are counted apart, on a rank that is late.
TEST(Diagnose, calls_that_all_ranks_leave) {
  virtual_world::world({0, 0}, impatient(), [](Communicator& communicator) {
    ControlBlock& control = *communicator.slot().control;
    for (int call = 0; call < 3; ++call) {
      control.begin_call(1, 1);
      Code worst = Code::ok;
      EXPECT_TRUE(control.agree(Code::ok, worst).ok());
      const int calls = call == 1 ? (1 << 24) + 5 : 5;
      for (int left = 0; left < calls; ++left) control.leave_call();
      if (communicator.topology.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(150));
    }
  });
}

TEST(Diagnose, an_ended_rank) {
  virtual_world::world({0, 0, 0}, impatient(), [](Communicator& communicator) {
    if (communicator.topology.rank == 2) return;
    communicator.slot().control->begin_call(1, 1);
    const Status status = communicator.slot().control->await(2, [] { return false; });
    EXPECT_TRUE(status.code == Code::peer_lost || status.code == Code::broken) << status.what;
  });
}

TEST(Diagnose, a_broken_board) {
  virtual_world::world({0, 0}, impatient(), [](Communicator& communicator) {
    communicator.slot().control->begin_call(1, 1);
    Code met = Code::ok;
    EXPECT_TRUE(communicator.slot().links->agree(Code::ok, met).ok());
    if (communicator.topology.rank == 1) communicator.slot().control->break_up(crossrail::Code::broken);
    const Status status = communicator.slot().control->await(1 - communicator.topology.rank, [] { return false; });
    EXPECT_TRUE(status.code == Code::system || status.code == Code::broken) << status.what;
  });
}

}  // namespace
}  // namespace crossrail::tests
