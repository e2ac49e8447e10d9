// An error ends a call completely, and all ranks agree which calls it ends and which the MPI library carries.

#include <atomic>
#include <random>

#include "tests/engine/pending_world.h"

namespace crossrail::tests {
namespace {

// This is a v-call in which `from` sends `to` so many bytes, and nobody else sends anything.
struct Lone {
  int from, to;
  std::size_t sent, awaited;
};

class LoneBlock {
 public:
  LoneBlock(const Topology& topology, const Lone& lone)
      : out_(static_cast<std::size_t>(topology.size)), in_(out_), send_(lone.sent + 1, std::byte{0x44}), recv_(lone.awaited + 1, std::byte{0x33}) {
    if (topology.rank == lone.from) out_[static_cast<std::size_t>(lone.to)].bytes = lone.sent;
    if (topology.rank == lone.to) in_[static_cast<std::size_t>(lone.from)].bytes = lone.awaited;
  }
  Buffers buffers() { return {send_.data(), recv_.data(), out_.data(), in_.data()}; }
  bool untouched() const {
    return std::all_of(recv_.begin(), recv_.end(), [](std::byte one) { return one == std::byte{0x33}; });
  }
  std::size_t received() const {
    return static_cast<std::size_t>(std::find(recv_.begin(), recv_.end(), std::byte{0x33}) - recv_.begin());
  }

 private:
  std::vector<Block> out_, in_;
  std::vector<std::byte> send_, recv_;
};

// This call sends and receives in the same place.
class InPlace final : public UserBuffers {
 public:
  explicit InPlace(const Buffers& buffers) : buffers_(buffers) {}
  Status open(Buffers& buffers, const Plan*) override {
    buffers = buffers_;
    return {};
  }
  bool in_place() const override { return true; }
  Status close() override { return {}; }

 private:
  Buffers buffers_;
};

enum class End { carried, native, error };
End end_of(const Outcome& outcome) {
  return !outcome.status.ok() ? End::error : outcome.plan->native() ? End::native : End::carried;
}

// This says what became of every rank's calls, and how all ranks took each.
struct Ends {
  explicit Ends(std::size_t ranks) : of(ranks) {}
  std::vector<std::vector<End>> of;
  std::vector<std::unique_ptr<LoneBlock>> kept;
  void expect(std::size_t call, End end) const {
    for (std::size_t rank = 0; rank < of.size(); ++rank) {
      ASSERT_LT(call, of[rank].size()) << "rank " << rank;
      EXPECT_EQ(static_cast<int>(of[rank][call]), static_cast<int>(end)) << "call " << call << ", rank " << rank;
    }
  }
};

End lone_call(Communicator& communicator, const Lone& lone) {
  LoneBlock block(communicator.topology, lone);
  return end_of(run_collective(communicator, kVectorShape, block.buffers()));
}
// The plan of v-calls is made, and all have ended that call.
void warm_up(Communicator& communicator) {
  EXPECT_EQ(static_cast<int>(lone_call(communicator, {0, 1, 8, 8})), static_cast<int>(End::carried));
  Code worst = Code::ok;
  EXPECT_TRUE(communicator.slot().links->agree(Code::ok, worst).ok());
}
End plain_call(Communicator& communicator, bool in_place = false) {
  AlltoallCase one(communicator.topology, alltoall_shape(64, in_place), 5);
  const End end = end_of(run_collective(communicator, alltoall_shape(64, in_place), one.buffers()));
  EXPECT_TRUE(end != End::carried || one.wrong().empty());
  EXPECT_TRUE(end != End::native || in_place || one.can_be_sent_again());
  return end;
}

// Ranks 0 and 1 disagree in call 1. Rank 2 has nothing to do there and is in call 2 when they find out.
TEST(Ahead, by_one_call_is_the_MPI_library_s) {
  for (const char* row : {"node_shared", "pairwise", "scatter_destination"}) {
    Ends ends(3);
    pending_world({0, 0, 0}, impatient("node_shared", row), [&](PendingRank& mine) {
      auto& mine_ends = ends.of[static_cast<std::size_t>(mine.communicator.topology.rank)];
      warm_up(mine.communicator);
      if (mine.communicator.topology.rank == 1) wait_until_in_call(mine.communicator, 2, 3);
      const End first = lone_call(mine.communicator, {0, 1, 24, 8});
      EXPECT_TRUE(first == End::error || mine.communicator.topology.rank != 1);
      for (int call = 0; call < 3; ++call) mine_ends.push_back(plain_call(mine.communicator));
      mine.all.meet();
    });
    for (const std::size_t call : {0u, 1u, 2u}) ends.expect(call, End::native);
  }
}

// In place, what was to be sent is gone. That call ends with an error, on all ranks, late ones too.
TEST(Ahead, in_place_is_an_error_everywhere) {
  for (const bool vector : {false, true}) {
    Ends ends(4);
    pending_world({0, 0, 0, 0}, impatient("node_shared", "node_shared"), [&](PendingRank& mine) {
      const int rank = mine.communicator.topology.rank;
      auto& mine_ends = ends.of[static_cast<std::size_t>(rank)];
      warm_up(mine.communicator);
      (void)lone_call(mine.communicator, {0, 1, 24, 8});
      // This rank is not yet in the second call when the others give it up.
      if (rank == 3) wait_until([&] { return mine.communicator.slot().control->broken_up(); });
      if (vector) {
        AlltoallvCase one(mine.communicator.topology, Counts::uniform, 1);
        InPlace user(one.buffers());
        mine_ends.push_back(end_of(run_collective(mine.communicator, kVectorShape, user)));
      } else {
        mine_ends.push_back(plain_call(mine.communicator, true));
      }
      mine_ends.push_back(plain_call(mine.communicator));
      mine.all.meet();
    });
    ends.expect(0, End::error);
    ends.expect(1, End::native);
  }
}

// Rank 2 has gone on by several calls in which nobody needed it. Whatever is decided, it is the same on all ranks
// that are in a call, and nobody hangs.
TEST(Ahead, by_several_calls) {
  for (const bool last_in_place : {false, true}) {
    Ends ends(3);
    pending_world({0, 0, 0}, impatient("node_shared", "node_shared"), [&](PendingRank& mine) {
      const int rank = mine.communicator.topology.rank;
      auto& mine_ends = ends.of[static_cast<std::size_t>(rank)];
      warm_up(mine.communicator);
      if (rank == 1) wait_until_in_call(mine.communicator, 2, 6);
      (void)lone_call(mine.communicator, {0, 1, 24, 8});
      for (int call = 0; call < 3; ++call) {
        const End end = lone_call(mine.communicator, {1, 0, 8, 8});
        EXPECT_EQ(static_cast<int>(end), static_cast<int>(rank == 2 ? End::carried : End::error)) << call << ", rank " << rank;
      }
      mine_ends.push_back(plain_call(mine.communicator, last_in_place));
      for (int call = 0; call < 3; ++call) mine_ends.push_back(plain_call(mine.communicator));
      mine.all.meet();
    });
    ends.expect(0, last_in_place ? End::error : End::native);
    for (const std::size_t call : {1u, 2u, 3u}) ends.expect(call, End::native);
  }
}

// Rank 2 has already ended the call that rank 3 is in, so all ranks cannot do that one again.
TEST(Ahead, a_call_that_some_rank_has_ended_is_an_error_for_the_others) {
  Ends ends(4);
  std::atomic<bool> has_ended{false};
  pending_world({0, 0, 0, 0}, impatient("node_shared", "node_shared"), [&](PendingRank& mine) {
    const int rank = mine.communicator.topology.rank;
    auto& mine_ends = ends.of[static_cast<std::size_t>(rank)];
    warm_up(mine.communicator);
    if (rank == 1) wait_until([&] { return has_ended.load(); });
    (void)lone_call(mine.communicator, {0, 1, 24, 8});
    const End end = lone_call(mine.communicator, {1, 3, 8, 8});
    EXPECT_NE(static_cast<int>(end), static_cast<int>(End::native)) << rank;
    const bool must_fail = rank == 1 || rank == 3;  // Rank 0 may have ended in time, or not.
    EXPECT_TRUE(rank == 0 || end == (must_fail ? End::error : End::carried)) << rank;
    if (rank == 2) has_ended = true;
    mine_ends.push_back(plain_call(mine.communicator));
    mine.all.meet();
  });
  ends.expect(0, End::native);
}

// Half of the ranks meet the error by themselves, in different calls, at the same time, many times over.
TEST(Ahead, everybody_agrees_however_it_comes) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    Ends ends(5);
    virtual_world::WorldOptions options = impatient("node_shared", "node_shared");
    options.settings.patience_ms = 4;
    pending_world({0, 0, 0, 0, 0}, options, [&](PendingRank& mine) {
      const int rank = mine.communicator.topology.rank;
      std::mt19937 random(seed * 7 + static_cast<unsigned>(rank));
      const auto stroll = [&] { std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000)); };
      warm_up(mine.communicator);
      stroll();
      (void)lone_call(mine.communicator, {0, 1, 24, 8});
      stroll();
      (void)lone_call(mine.communicator, {3, 4, 8, 8});
      for (int call = 0; call < 3; ++call) {
        stroll();
        ends.of[static_cast<std::size_t>(rank)].push_back(plain_call(mine.communicator));
      }
      mine.all.meet();
    });
    for (const std::size_t call : {0u, 1u, 2u}) ends.expect(call, ends.of[0][call]);
    if (testing::Test::HasFailure()) return;
  }
}

// Rank 1 awaits what rank 0 does not send, or more than it does, and both go on. In a node it gets what there is, as in an MPI library. Messages are
// not sent for nothing: there it hears of it.
TEST(Ahead, who_awaits_more_than_is_sent_gets_what_is_sent) {
  for (const Lone& lone : {Lone{0, 1, 0, 4}, Lone{0, 1, 8, 24}, Lone{0, 1, 40, 20'000}, Lone{0, 1, 20'000, 50'000}}) {
    virtual_world::WorldOptions options = impatient("node_shared", "node_shared");
    options.settings.patience_ms = 5000;  // A rank that a busy machine holds up is not ahead.
    pending_world({0, 0}, options, [&lone](PendingRank& mine) {
      warm_up(mine.communicator);
      LoneBlock block(mine.communicator.topology, lone);
      EXPECT_EQ(static_cast<int>(end_of(run_collective(mine.communicator, kVectorShape, block.buffers()))), static_cast<int>(End::carried));
      EXPECT_TRUE(mine.communicator.topology.rank != 1 || block.received() == lone.sent) << block.received();
      for (int call = 0; call < 3; ++call) EXPECT_EQ(static_cast<int>(plain_call(mine.communicator)), static_cast<int>(End::carried));
      mine.all.meet();
    });
  }
}

TEST(Ahead, who_awaits_more_than_is_sent_by_messages_hears_of_it) {
  pending_world({0, 0}, impatient("node_shared", "pairwise"), [](PendingRank& mine) {
    warm_up(mine.communicator);
    const End first = lone_call(mine.communicator, {0, 1, 0, 4});
    EXPECT_EQ(static_cast<int>(first), static_cast<int>(mine.communicator.topology.rank == 1 ? End::error : End::carried));
    EXPECT_EQ(static_cast<int>(plain_call(mine.communicator)), static_cast<int>(End::native));
    mine.all.meet();
  });
}

TEST(Ahead, who_awaits_more_than_is_sent_gets_what_is_sent_among_leaders_too) {
  virtual_world::WorldOptions options = impatient("", "leader_pipelined");
  options.settings.patience_ms = 5000;
  pending_world({0, 0, 1, 1}, options, [](PendingRank& mine) {
    warm_up(mine.communicator);
    EXPECT_EQ(static_cast<int>(lone_call(mine.communicator, {0, 1, 0, 4})), static_cast<int>(End::carried));
    mine.all.meet();
  });
}

// ----- These tests check what has been posted when a call fails.

// Rank 0's long block for rank 1, on the other node, is on its way in a call that rank 1's node breaks.
TEST(Late, messages_do_not_arrive_behind_an_error) {
  for (const std::size_t eager : {std::size_t{0}, std::size_t{1} << 30}) {
    virtual_world::WorldOptions options = impatient("", "leader_pipelined");
    options.links.eager_bytes = eager;
    std::vector<std::unique_ptr<LoneBlock>> blocks(4);
    std::atomic<bool> met{false}, in_call{false}, watched{false};
    pending_world({0, 0, 1, 1}, options, [&](PendingRank& mine) {
      const int rank = mine.communicator.topology.rank;
      AlltoallvCase warm(mine.communicator.topology, Counts::random, 1);
      EXPECT_TRUE(run_collective(mine.communicator, kVectorShape, warm.buffers()).status.ok());
      Code worst = Code::ok;
      EXPECT_TRUE(mine.communicator.slot().links->agree(Code::ok, worst).ok());
      auto& block = blocks[static_cast<std::size_t>(rank)];
      block = std::make_unique<LoneBlock>(mine.communicator.topology, Lone{0, 2, 100'000, 100'000});
      if (rank == 0) wait_until([&] { return met.load(); });  // This rank is late.
      if (rank == 3) {
        withdraw(mine.communicator.slot(), kVectorShape, Code::mismatch);
      } else {
        if (rank == 0) in_call = true;
        const Outcome outcome = run_collective(mine.communicator, kVectorShape, block->buffers());
        EXPECT_TRUE(rank != 2 || !outcome.status.ok());
      }
      // Rank 3, on another node, does not tell ranks 0 and 1, but they see that it has ended.
      if (rank == 3) wait_until([&] { return watched.load(); });
      if (rank != 2) return;
      met = true;
      wait_until([&] { return in_call.load(); });
      for (int look = 0; look < 60; ++look) {
        EXPECT_TRUE(block->untouched()) << "bytes have arrived behind the error";
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        mine.communicator.slot().links->progress();
      }
      watched = true;
    });
  }
}

}  // namespace
}  // namespace crossrail::tests
