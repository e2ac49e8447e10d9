// These tests make plans. Ranks agree on the same row though a plan fails on one of them only, the rows send so many messages, and a run allocates
// nothing (counted in allocation_test.cpp).

#include <atomic>
#include <memory>
#include <random>
#include <thread>

#include "selection/selection.h"
#include "tests/collectives/alltoall_case.h"
#include "tests/collectives/phases.h"

namespace crossrail::tests {
namespace {

std::vector<TuningRow> table(const std::string& csv) {
  std::vector<TuningRow> rows;
  const Status read = read_tuning(csv, "test.csv", rows);
  EXPECT_TRUE(read.ok()) << read.what;
  return rows;
}

TEST(Plan, failing_on_one_rank_makes_all_take_the_next_row) {
  for (const Nodes& nodes : {Nodes{0, 0, 0}, Nodes{0, 0, 1, 1, 1}, Nodes{0, 1, 2}}) {
    for (int bad = 0; bad < static_cast<int>(nodes.size()); ++bad) {
      virtual_world::WorldOptions options;
      options.tuning = table("alltoall,host,*,*,*,pairwise,\nalltoall,host,*,*,*,linear,\n");
      std::vector<int> opened(nodes.size(), 0);  // Each rank touches its own.
      options.links.open_messages = [&opened, bad](int rank) {
        return rank == bad && opened[rank]++ == 0 ? failed(Code::system, "no more communicators") : Status{};
      };
      virtual_world::world(nodes, options, [bad](Communicator& communicator) {
        const Outcome outcome = checked_call(communicator, alltoall_shape(100), 1);
        ASSERT_NE(outcome.plan, nullptr);
        EXPECT_STREQ(outcome.plan->algorithm, "linear");
        const bool mine = communicator.topology.rank == bad;
        EXPECT_NE(outcome.plan->reason.find(mine ? "no more communicators" : "on another rank"), std::string::npos)
            << outcome.plan->reason;
        EXPECT_STREQ(checked_call(communicator, alltoall_shape(100), 2).plan->algorithm, "linear");
      });
    }
  }
}

TEST(Plan, ends_in_native_where_every_row_fails_on_some_rank) {
  virtual_world::WorldOptions options;
  options.built_in_tuning = false;
  options.tuning = table("alltoall,host,*,*,*,pairwise,\nalltoall,host,*,*,*,bruck,\nalltoall,host,*,*,*,linear,\n");
  options.links.open_messages = [](int rank) { return rank == 1 ? failed(Code::no_memory, "full") : Status{}; };
  for (const Nodes& nodes : {Nodes{0, 0, 0}, Nodes{0, 1, 1}}) {
    virtual_world::world(nodes, options, [](Communicator& communicator) {
      for (std::uint64_t call = 0; call < 3; ++call) {
        const Outcome outcome = checked_call(communicator, alltoall_shape(100), call);
        ASSERT_NE(outcome.plan, nullptr);
        EXPECT_TRUE(outcome.plan->native());
        EXPECT_FALSE(communicator.broken);
      }
    });
  }
}

// One node cannot share memory. No node uses it, and the communicator stays whole.
TEST(Plan, takes_the_next_row_where_a_node_shares_no_memory) {
  virtual_world::WorldOptions options;
  options.tuning = table("alltoall,host,*,*,*,leader_pipelined,\nalltoall,host,*,*,*,pairwise,\n");
  options.links.share = [](int node) { return node == 1 ? failed(Code::no_memory, "full") : Status{}; };
  virtual_world::world({0, 0, 1, 1, 2}, options, [](Communicator& communicator) {
    for (std::uint64_t call = 0; call < 3; ++call) {
      EXPECT_STREQ(checked_call(communicator, alltoall_shape(100), call).plan->algorithm, "pairwise");
      EXPECT_FALSE(communicator.broken);
    }
  });
}

TEST(Plan, native_rows_stop_the_search) {
  virtual_world::WorldOptions options;
  options.tuning = table("alltoall,host,*,*,64,native,\nalltoall,host,*,*,*,pairwise,\n");
  virtual_world::world({0, 0, 0}, options, [](Communicator& communicator) {
    EXPECT_TRUE(checked_call(communicator, alltoall_shape(64), 1).plan->native());
    EXPECT_STREQ(checked_call(communicator, alltoall_shape(65), 2).plan->algorithm, "pairwise");
  });
}

// Native calls of no bytes do not wait for anybody. Ranks may be many calls apart after them.
TEST(Plan, native_calls_may_run_ahead) {
  virtual_world::WorldOptions options;
  options.settings.patience_ms = 20;
  options.tuning = table("alltoall,host,*,*,0,native,\n");
  virtual_world::world({0, 0, 0}, options, [](Communicator& communicator) {
    for (std::uint64_t call = 0; call < 60; ++call) {
      if (communicator.topology.rank == static_cast<int>(call / 20)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(4));
      }
      checked_call(communicator, alltoall_shape(call % 7 == 6 ? (call % 2 == 0 ? 64 : 9000) : 0), call);
    }
  });
}

TEST(Plan, packets_and_chunks_come_from_the_row) {
  virtual_world::WorldOptions options;
  options.tuning = table("alltoall,host,*,*,*,node_shared,packet=300 chunk=1000\n");
  virtual_world::world({0, 0, 0}, options, [](Communicator& communicator) {
    EXPECT_TRUE(checked_call(communicator, alltoall_shape(100), 1).plan->packets);
    const Outcome outcome = checked_call(communicator, alltoall_shape(4321), 2);
    EXPECT_FALSE(outcome.plan->packets);
    EXPECT_EQ(outcome.plan->chunk_bytes, 1000u);
    EXPECT_NE(outcome.plan->text().find("chunks of 1000"), std::string::npos) << outcome.plan->text();
  });
  options.tuning = table("alltoall,host,*,*,*,node_shared,chunk=0 packet=0\nalltoall,host,*,*,*,linear,\n");
  virtual_world::world({0, 0, 0}, options, [](Communicator& communicator) {
    EXPECT_STREQ(checked_call(communicator, alltoall_shape(100), 1).plan->algorithm, "linear");
  });
}

// This rank plans alone. Nobody else is in a call, and a rank that waited for one would lose patience.
const Plan* planned_alone(Communicator& communicator, const Shape& shape) {
  Plan* plan = nullptr;
  const Status status = plan_for(communicator.slot(), shape, plan);
  EXPECT_TRUE(status.ok()) << status.what << ", " << shape.block_bytes;
  return plan;
}

TEST(Plan, where_it_cannot_fail_nobody_is_asked) {
  virtual_world::WorldOptions options;
  options.settings.patience_ms = 20;
  options.settings.alltoall = "node_shared";
  options.links.hang_after = std::chrono::milliseconds(3000);
  virtual_world::world({0, 0, 0}, options, [](Communicator& communicator) {
    if (communicator.topology.rank != 1) return;
    const Plan* const few = planned_alone(communicator, alltoall_shape(8));
    ASSERT_TRUE(few->packets);
    EXPECT_EQ(planned_alone(communicator, alltoall_shape(0)), few) << "one plan for all sizes that travel alike";
    EXPECT_EQ(few->shape.block_bytes, 0u);
    const Plan* const many = planned_alone(communicator, alltoall_shape(1 << 20));
    EXPECT_NE(many, few);
    EXPECT_EQ(planned_alone(communicator, alltoall_shape(9999)), many);
    EXPECT_EQ(communicator.slot().plans.size(), 2u);
  });
}

TEST(Plan, of_a_smaller_block_than_before_asks_nobody) {
  for (const char* row : {"pairwise", "node_leaders", "leader_pipelined", "linear"}) {
    virtual_world::WorldOptions options;
    options.settings.patience_ms = 20;
    options.settings.alltoall = row;
    options.links.hang_after = std::chrono::milliseconds(3000);
    virtual_world::world({0, 0, 1, 1, 0}, options, [row](Communicator& communicator) {
      EXPECT_STREQ(checked_call(communicator, alltoall_shape(1000), 1).plan->algorithm, row);
      if (communicator.topology.rank == 1) {
        EXPECT_STREQ(planned_alone(communicator, alltoall_shape(999))->algorithm, row);
      }
      // All know this plan, one of them since before the call.
      EXPECT_STREQ(checked_call(communicator, alltoall_shape(999), 2).plan->algorithm, row);
      EXPECT_STREQ(checked_call(communicator, alltoall_shape(1001), 3).plan->algorithm, row);
    });
  }
}

// Ranks come with different sizes. None of these has a plan, and each would plan without asking the others.
TEST(Plan, unequal_sizes_are_found_though_nobody_was_asked) {
  for (const char* row : {"node_shared", "node_single_copy", "pairwise", "node_leaders", "leader_pipelined"}) {
    virtual_world::WorldOptions options;
    options.settings.patience_ms = 20;
    options.settings.alltoall = row;
    std::atomic<int> said{0};
    world_that_ends_together({0, 0, 0}, options, [&said](Communicator& communicator) {
      checked_call(communicator, alltoall_shape(5000), 1);
      const std::size_t bytes = communicator.topology.rank == 0 ? 600 : 400;
      AlltoallCase one(communicator.topology, alltoall_shape(bytes), 2);
      const Outcome outcome = run_collective(communicator, alltoall_shape(bytes), one.buffers());
      EXPECT_TRUE(!outcome.status.ok() || outcome.plan->native());
      EXPECT_TRUE(communicator.broken);
      const std::string what = outcome.status.ok() ? communicator.slot().error : outcome.status.what;
      said += what.find("of 600") != std::string::npos || what.find("another size") != std::string::npos ? 1 : 0;
    });
    EXPECT_GE(said.load(), 1) << row;
  }
}

// The calls have every size in turn, most of them without a plan of its own, small ones after large ones and the other way round.
TEST(Plan, serves_sizes_for_which_it_was_not_made) {
  for (const char* row : {"node_shared", "node_single_copy"}) {
    virtual_world::WorldOptions options;
    options.built_in_tuning = false;
    options.settings.alltoall = std::string(row) == "node_shared" ? "node_shared packet=300 chunk=1000" : row;
    virtual_world::world({0, 0, 0}, options, [](Communicator& communicator) {
      std::mt19937 random(17);
      for (std::uint64_t call = 0; call < 300; ++call) checked_call(communicator, alltoall_shape(random() % (random() % 3 == 0 ? 9000 : 150), call % 4 == 0), call);
      EXPECT_LE(communicator.slot().plans.size(), 4u);
    });
  }
}

std::uint64_t sends_of_one_call(const char* algorithm, const Nodes& nodes) {
  virtual_world::WorldOptions options;
  options.settings.alltoall = algorithm;
  virtual_world::ThreadWorld threads(nodes, options);
  threads.run([](Communicator& communicator) { checked_call(communicator, alltoall_shape(100), 1); });
  std::uint64_t most = 0;
  for (int rank = 0; rank < threads.size(); ++rank) most = std::max(most, threads.counters(rank).sends.load());
  return most;
}

TEST(Messages, are_as_many_as_the_cost_line_says) {
  for (const int size : {1, 2, 3, 5, 7, 8}) {
    const Nodes nodes(static_cast<std::size_t>(size), 0);
    const auto others = static_cast<std::uint64_t>(size - 1);
    std::uint64_t steps = 0;
    while (1 << steps < size) ++steps;
    EXPECT_EQ(sends_of_one_call("linear", nodes), others);
    EXPECT_EQ(sends_of_one_call("pairwise", nodes), others);
    EXPECT_EQ(sends_of_one_call("bruck", nodes), steps);
    if (size == 1) continue;
    EXPECT_EQ(sends_of_one_call("node_shared", nodes), 0u);
    EXPECT_EQ(sends_of_one_call("node_single_copy", nodes), 0u);
  }
}

// Reading was allowed when the communicator was opened, and is refused now. A rank that cannot read a block asks for it.
TEST(SingleCopy, refused_in_the_run_goes_another_way) {
  for (const int forbidden : {-1, 0, 2}) {  // It is forbidden to all, or to one rank.
    virtual_world::WorldOptions options;
    options.settings.alltoall = "node_single_copy";
    options.links.may_read = [forbidden](int rank) { return forbidden >= 0 && rank != forbidden; };
    virtual_world::world({0, 0, 0, 0, 0}, options, [](Communicator& communicator) {
      for (const std::size_t bytes : {std::size_t{1}, std::size_t{64}, std::size_t{100'000}, std::size_t{1'500'001}}) {
        for (int again = 0; again < 3; ++again) checked_call(communicator, alltoall_shape(bytes), again);
      }
    });
  }
}

// Peers cannot read a buffer, and there is no scratch to offer it from. There is no error that plain MPI would not give.
TEST(SingleCopy, works_or_is_not_chosen_where_a_copy_would_not_fit) {
  virtual_world::WorldOptions options;
  options.settings.alltoall = "node_single_copy";
  options.settings.patience_ms = 40;
  options.settings.scratch_bytes = 1 << 20;
  options.links.readable = [](int rank) { return rank != 0; };
  world_that_ends_together({0, 0}, options, [](Communicator& communicator) { checked_call(communicator, alltoall_shape(1 << 20), 1); });
}

}  // namespace
}  // namespace crossrail::tests
