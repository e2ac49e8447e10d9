#include "transport/node_board.h"

#include <gtest/gtest.h>

#include <thread>

#include "simulate/thread_world.h"

namespace crossrail::tests {
namespace {

simulate::WorldOptions impatient() {
  simulate::WorldOptions options;
  options.settings.patience_ms = 30;
  return options;
}

TEST(Layout, stays_within_the_scratch) {
  for (const int node_size : {1, 2, 3, 8, 56, 64, 256}) {
    for (std::uint64_t scratch = 1 << 16; scratch <= std::uint64_t{1} << 30; scratch = scratch * 5 / 2) {
      const NodeBoardLayout layout = node_board_layout(node_size, scratch);
      EXPECT_EQ(layout.node_size, node_size);
      EXPECT_EQ(layout.bulk_bytes % kPageBytes, 0u);
      const std::uint64_t flags = round_up(kCacheLineBytes + node_size * sizeof(RankLines), kPageBytes);
      EXPECT_LE(layout.total_bytes(), scratch + flags + device_lines_bytes(node_size) + 2 * kPageBytes)
          << node_size << " ranks, " << scratch << " bytes";
    }
  }
}

TEST(Layout, regions_lie_apart_and_inside) {
  const int ranks = 3;
  simulate::world(std::vector<int>(ranks, 0), {}, [](Communicator& communicator) {
    NodeBoard& board = *communicator.board;
    const NodeBoardLayout& layout = board.layout();
    auto* const first = reinterpret_cast<std::byte*>(&board.lines(0)) - kCacheLineBytes;
    std::byte* end = reinterpret_cast<std::byte*>(&board.lines(ranks));
    for (int half = 0; half < 2; ++half) {
      for (int rank = 0; rank < ranks; ++rank) {
        auto* const packets = reinterpret_cast<std::byte*>(board.packets(half, rank, layout.packet_count));
        EXPECT_GE(packets, end);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(packets) % kCacheLineBytes, 0u);
        end = packets + layout.packet_count * sizeof(Packet);
      }
    }
    for (int half = 0; half < 2; ++half) {
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_GE(board.bulk(half, rank), end);
        end = board.bulk(half, rank) + layout.bulk_bytes;
      }
    }
    EXPECT_LE(end, first + layout.total_bytes());
  });
}

TEST(Flag, differs_by_epoch_and_by_shape) {
  simulate::world({0, 0}, {}, [](Communicator& communicator) {
    NodeBoard& board = *communicator.board;
    board.enter(0x1111, 1);
    const std::uint64_t one = board.flag(5), next = board.flag(6);
    board.enter(0x2222, 1);
    EXPECT_NE(one, next);
    EXPECT_NE(one, board.flag(5));
    EXPECT_EQ(board.next_epoch(), 1u);
    EXPECT_EQ(board.next_epoch(), 2u);
  });
}

TEST(Agree, gives_the_worst_code_to_all_many_times) {
  simulate::world({0, 0, 0, 0}, {}, [](Communicator& communicator) {
    for (int round = 0; round < 500; ++round) {
      const bool bad = round % 3 == 0 && communicator.topology.rank == round % 4;
      Code worst = Code::system;
      ASSERT_TRUE(communicator.board->agree(bad ? Code::no_memory : Code::ok, worst).ok());
      EXPECT_EQ(worst, round % 3 == 0 ? Code::no_memory : Code::ok) << round;
    }
  });
}

TEST(Diagnose, a_late_rank_is_waited_for) {
  simulate::world({0, 0}, impatient(), [](Communicator& communicator) {
    communicator.board->enter(1, 1);
    if (communicator.topology.rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(150));
    Code worst = Code::ok;
    EXPECT_TRUE(communicator.board->agree(Code::ok, worst).ok());
  });
}

TEST(Diagnose, another_shape_in_the_same_call) {
  simulate::world({0, 0}, impatient(), [](Communicator& communicator) {
    NodeBoard& board = *communicator.board;
    const int rank = communicator.topology.rank;
    board.enter(static_cast<std::uint64_t>(1 + rank), static_cast<std::uint64_t>(100 + rank));
    const Status status = board.await(1 - rank, [] { return false; });
    EXPECT_TRUE(status.code == Code::mismatch || status.code == Code::broken) << status.what;
    EXPECT_TRUE(board.broken_up());
  });
}

TEST(Diagnose, a_rank_that_is_ahead_without_having_answered) {
  simulate::world({0, 0}, impatient(), [](Communicator& communicator) {
    NodeBoard& board = *communicator.board;
    board.enter(1, 100);
    if (communicator.topology.rank == 0) {
      EXPECT_EQ(board.await(1, [] { return false; }).code, Code::mismatch);
      return;
    }
    board.enter(1, 100);
    board.enter(1, 100);
    while (!board.broken_up()) std::this_thread::yield();
  });
}

TEST(Diagnose, an_ended_rank) {
  simulate::world({0, 0, 0}, impatient(), [](Communicator& communicator) {
    if (communicator.topology.rank == 2) return;
    communicator.board->enter(1, 1);
    const Status status = communicator.board->await(2, [] { return false; });
    EXPECT_TRUE(status.code == Code::peer_lost || status.code == Code::broken) << status.what;
  });
}

TEST(Diagnose, a_broken_board) {
  simulate::world({0, 0}, impatient(), [](Communicator& communicator) {
    communicator.board->enter(1, 1);
    Code met = Code::ok;
    EXPECT_TRUE(communicator.links->agree(Code::ok, met).ok());
    if (communicator.topology.rank == 1) communicator.board->break_up(crossrail::Code::broken);
    const Status status = communicator.board->await(1 - communicator.topology.rank, [] { return false; });
    EXPECT_TRUE(status.code == Code::system || status.code == Code::broken) << status.what;
  });
}

}  // namespace
}  // namespace crossrail::tests
