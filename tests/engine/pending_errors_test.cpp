// Pending calls meet an error. It is found although nobody waits in them, and it is said.

#include "tests/engine/pending_world.h"

namespace crossrail::tests {
namespace {

struct PendingMismatch : testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(rows, PendingMismatch, testing::Values("node_shared", "node_single_copy", "linear", "bruck"),
                         [](const auto& row) { return std::string(row.param); });

// While it waits, nothing of it moves, so somebody must ask why.
TEST_P(PendingMismatch, is_an_error_on_every_rank) {
  for (const bool planned : {false, true}) {
    std::vector<std::vector<OutstandingCall>> kept(3);  // A rank that has met no error yet may still read the memory of others.
    pending_world({0, 0, 0}, impatient(GetParam(), ""), [planned, &kept](PendingRank& mine) {
      const int rank = mine.communicator.topology.rank;
      std::vector<OutstandingCall>& calls = kept[static_cast<std::size_t>(rank)];
      const auto begin = [&](std::size_t bytes) {
        calls.push_back(pending_alltoall(mine.communicator.slot(1), alltoall_shape(bytes), calls.size()));
        mine.calls.start(calls.back()->call());
        advance_all(mine.calls);
      };
      for (const std::size_t bytes : {64, 128}) {
        if (!planned) break;
        begin(bytes);
        EXPECT_EQ(calls.back()->wrong(), "");
      }
      Code worst = Code::ok;  // A rank that is still in a call when another meets an error in the next one may share its fate.
      EXPECT_TRUE(mine.communicator.slot().links->agree(Code::ok, worst).ok());
      begin(rank == 1 ? 64 : 128);
      EXPECT_TRUE(calls.back()->call().code == Code::mismatch || calls.back()->call().code == Code::broken);
      EXPECT_NE(calls.back()->call().what, "");
      EXPECT_TRUE(mine.communicator.broken);
      begin(64);
      EXPECT_NE(calls.back()->call().code, Code::ok);
      mine.all.meet();
    });
  }
}

TEST(PendingError, a_rank_that_has_ended) {
  for (const char* row : {"node_shared", "node_single_copy", "linear"}) {
    std::vector<OutstandingCall> calls(3);
    pending_world({0, 0, 0}, impatient(row, ""), [&](PendingRank& mine) {
      const int rank = mine.communicator.topology.rank;
      for (std::uint64_t number = 0; number < 3; ++number) checked_call(mine.communicator, alltoall_shape(64), number);
      Code worst = Code::ok;
      EXPECT_TRUE(mine.communicator.slot().links->agree(Code::ok, worst).ok());
      if (rank == 0) return;
      OutstandingCall& one = calls[static_cast<std::size_t>(rank)];
      one = pending_alltoall(*mine.communicator.next_pending_slot(), alltoall_shape(600), 1);
      mine.calls.start(one->call());
      advance_all(mine.calls);
      EXPECT_TRUE(one->call().code == Code::peer_lost || one->call().code == Code::broken) << one->call().what;
    });
  }
}

// The words of an error are not lost when its call is suspended on the way out, and others fail meanwhile.
TEST(PendingError, every_call_has_its_own_words) {
  pending_world({0, 0}, impatient("node_shared", ""), [](PendingRank& mine) {
    const int rank = mine.communicator.topology.rank;
    std::vector<OutstandingCall> calls;
    for (std::uint64_t number = 0; number < 4; ++number) {
      calls.push_back(pending_alltoall(*mine.communicator.next_pending_slot(), alltoall_shape(1000 * (number + 1) + static_cast<std::size_t>(rank)), number));
      mine.calls.start(calls.back()->call());
    }
    advance_all(mine.calls);
    for (std::uint64_t number = 0; number < 4; ++number) {
      const PendingCall& one = calls[number]->call();
      EXPECT_NE(one.code, Code::ok);
      const bool of_another = one.what.find("another rank") != std::string::npos || one.what.find("has met an error") != std::string::npos;
      EXPECT_TRUE(of_another || one.what.find(std::to_string(1000 * (number + 1))) != std::string::npos) << number << ": " << one.what;
    }
    mine.all.meet();
  });
}

}  // namespace
}  // namespace crossrail::tests
