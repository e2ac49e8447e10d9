// Blocks that are too long for the node's memory go slice by slice. With little scratch, calls come as one slice, as two, as many, and with a shorter
// last one.

#include <random>
#include <set>
#include <thread>

#include "tests/engine/pending_world.h"

namespace crossrail::tests {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kSlicedCalls = 15;
#else
constexpr int kSlicedCalls = 60;
#endif

constexpr std::size_t kSlicedSizes[] = {0, 1, 63, 64, 65, 127, 128, 129, 192, 200, 256, 999, 1000, 3000};

struct SlicedRow {
  const char* name;
  const char* parameters;
  std::string text() const { return std::string(name) + parameters; }
};

constexpr SlicedRow kSlicedRows[] = {{"leader_pipelined", ""},
                                     {"leader_pipelined", " leaders=2"},
                                     {"leader_pipelined", " leaders=3 ahead=1"},
                                     {"leader_pipelined", " leaders=100 split=1"},
                                     {"leader_pipelined", " leaders=4 split=50"},
                                     {"matrix_block", ""},
                                     {"node_leaders", " throttle=2"}};
constexpr SlicedRow kWithDefaults[] = {{"leader_pipelined", ""}, {"matrix_block", ""}, {"node_leaders", ""}};

// Returns the blocks of which a node's memory holds as much as fits, on equal nodes.
std::uint64_t blocks_in_memory(const std::string& name, std::uint64_t nodes, std::uint64_t node_size) {
  if (name == "matrix_block") return 2 * nodes * node_size * node_size;
  if (name == "node_leaders") return nodes * node_size * node_size;
  return (nodes + std::min<std::uint64_t>(2, nodes - 1)) * node_size * node_size;
}

Nodes equal_nodes(int nodes, int node_size) {
  Nodes node_of;
  for (int rank = 0; rank < nodes * node_size; ++rank) node_of.push_back(rank / node_size);
  return node_of;
}

virtual_world::WorldOptions little(const SlicedRow& row, std::uint64_t scratch) {
  virtual_world::WorldOptions options;
  options.settings.alltoall = row.text();
  options.settings.scratch_bytes = scratch;
  return options;
}

std::uint64_t slices_in(const Plan& plan, std::size_t bytes) {
  return plan.chunk_bytes == 0 ? 1 : (bytes + plan.chunk_bytes - 1) / plan.chunk_bytes;
}

void expect_slices(const SlicedRow& row, const Plan& plan, std::uint64_t scratch) {
  if (plan.algorithm != std::string(row.name)) return;  // Its leaders have found no room.
  EXPECT_LE(plan.node_bytes, scratch);
  if (plan.chunk_bytes == 0) return;
  EXPECT_LT(plan.chunk_bytes, plan.shape.block_bytes);
  EXPECT_EQ(plan.chunk_bytes % 64, 0u);
}

// Ranks come late now and then, up to half a millisecond.
TEST(Slices, come_in_all_numbers) {
  for (const SlicedRow& row : kSlicedRows) {
    std::set<std::uint64_t> numbers;
    for (const Nodes& nodes : worlds()) {
      for (const std::uint64_t bytes : {70u, 200u, 500u}) {
        const std::uint64_t scratch = bytes * 2 * nodes.size() * nodes.size();
        SCOPED_TRACE(row.text() + " on " + text_of(nodes));
        virtual_world::world(nodes, little(row, scratch), [&](Communicator& communicator) {
          std::mt19937 random(7), late(static_cast<unsigned>(communicator.topology.rank));
          for (int call = 0; call < kSlicedCalls; ++call) {
            if (late() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(late() % 500));
            const Shape shape = alltoall_shape(kSlicedSizes[random() % std::size(kSlicedSizes)], random() % 3 == 0);
            const Outcome outcome = checked_call(communicator, shape, static_cast<std::uint64_t>(call));
            if (outcome.plan == nullptr) return;
            expect_slices(row, *outcome.plan, scratch);
            const bool its = outcome.plan->algorithm == std::string(row.name);
            if (its && communicator.topology.rank == 0) numbers.insert(slices_in(*outcome.plan, shape.block_bytes));
          }
        });
      }
    }
    for (const std::uint64_t number : {1u, 2u, 4u}) EXPECT_TRUE(numbers.contains(number)) << row.text() << ": " << number;
    EXPECT_GT(*numbers.rbegin(), 15u) << row.text();
  }
}

struct NodeSends {
  std::uint64_t sends = 0, sent_bytes = 0, staged_bytes = 0, node_bytes = 0;
};

// Returns what the first node has moved in one call of blocks of `bytes` bytes, and what its memory has grown to.
NodeSends sends_of(const SlicedRow& row, const Nodes& nodes, std::uint64_t scratch, std::size_t bytes) {
  virtual_world::ThreadWorld threads(nodes, little(row, scratch));
  std::vector<const Plan*> plans(nodes.size());
  threads.run([&](Communicator& communicator) {
    const Plan*& plan = plans[static_cast<std::size_t>(communicator.topology.rank)];
    for (std::uint64_t call = 0; call < 2; ++call) plan = checked_call(communicator, alltoall_shape(bytes), call).plan;
  });
  NodeSends sum;
  for (std::size_t rank = 0; rank < nodes.size() && nodes[rank] == 0; ++rank) {
    const Plan& plan = *plans[rank];
    EXPECT_STREQ(plan.algorithm, row.name);
    sum.sends += plan.last.sends;
    sum.sent_bytes += plan.last.sent_bytes;
    sum.staged_bytes += plan.last.staged_bytes;
    sum.node_bytes = plan.node_bytes;
  }
  return sum;
}

TEST(Slices, send_one_message_each_where_whole_blocks_send_one) {
  for (const SlicedRow& row : kWithDefaults) {
    for (const std::uint64_t nodes : {2u, 3u, 5u}) {
      for (const std::uint64_t node_size : {1u, 2u, 3u}) {
        SCOPED_TRACE(row.text() + " on " + std::to_string(nodes) + " nodes of " + std::to_string(node_size));
        const std::uint64_t blocks = blocks_in_memory(row.name, nodes, node_size), pairs = (nodes - 1) * node_size * node_size;
        const std::uint64_t messages = row.name == std::string("node_leaders") ? (nodes - 1) * node_size : nodes - 1;
        for (const auto& [bytes, slices] : {std::pair<std::uint64_t, std::uint64_t>{300, 1}, {301, 2}, {512, 2}, {513, 3}, {1000, 4}}) {
          const NodeSends sum = sends_of(row, equal_nodes(static_cast<int>(nodes), static_cast<int>(node_size)), 300 * blocks, bytes);
          EXPECT_EQ(sum.sends, messages * slices) << bytes;
          EXPECT_EQ(sum.sent_bytes, pairs * bytes);
          EXPECT_EQ(sum.staged_bytes, nodes * node_size * node_size * bytes);
          EXPECT_EQ(sum.node_bytes, 300 * blocks);
        }
        EXPECT_EQ(sends_of(row, equal_nodes(static_cast<int>(nodes), static_cast<int>(node_size)), 300 * blocks, 299).node_bytes, 299 * blocks);
      }
    }
  }
}

// A slice takes less memory than the longest block that needs none. The plan of a longer block has asked for as much all the same.
TEST(Slices, leave_room_for_shorter_blocks) {
  for (const SlicedRow& row : kSlicedRows) {
    virtual_world::WorldOptions options = little(row, 171 * blocks_in_memory(row.name, 2, 2));
    options.settings.patience_ms = 20;
    options.links.hang_after = std::chrono::milliseconds(3000);
    virtual_world::world({0, 0, 1, 1}, options, [&row](Communicator& communicator) {
      const Outcome first = checked_call(communicator, alltoall_shape(1000), 1);
      ASSERT_STREQ(first.plan->algorithm, row.name);
      EXPECT_GT(slices_in(*first.plan, 1000), 5u);
      for (const std::size_t bytes : {999u, 172u, 171u, 170u, 129u, 128u, 1u}) {
        Plan* alone = nullptr;
        if (communicator.topology.rank == 1) {
          EXPECT_TRUE(plan_for(communicator.slot(), alltoall_shape(bytes), alone).ok());
        }
        EXPECT_STREQ(checked_call(communicator, alltoall_shape(bytes), 2).plan->algorithm, row.name) << bytes;
      }
    });
  }
}

TEST(Slices, are_not_shorter_than_a_cache_line) {
  for (const SlicedRow& row : kWithDefaults) {
    virtual_world::world({0, 0, 1, 1}, little(row, 64 * blocks_in_memory(row.name, 2, 2) - 1), [&row](Communicator& communicator) {
      EXPECT_STREQ(checked_call(communicator, alltoall_shape(63), 1).plan->algorithm, row.name);
      EXPECT_STRNE(checked_call(communicator, alltoall_shape(64), 2).plan->algorithm, row.name);
      EXPECT_STRNE(checked_call(communicator, alltoall_shape(6400), 3).plan->algorithm, row.name);
    });
  }
}

// Pending calls of several slots and blocking ones, all of them in slices or some.
TEST(Slices, of_pending_calls) {
  for (const SlicedRow& row : kSlicedRows) {
    virtual_world::WorldOptions options = little(row, 40'000);
    options.settings.slots = 3;
    pending_world({0, 1, 1, 2, 1, 0}, options, [&row](PendingRank& mine) {
      Calls calls;
      std::mt19937 random(11);
      for (std::uint64_t number = 0; number < 40; ++number) {
        const Shape shape = alltoall_shape(kSlicedSizes[random() % std::size(kSlicedSizes)] * 2, random() % 3 == 0);
        calls.push_back(pending_alltoall(*mine.communicator.next_pending_slot(), shape, number));
        mine.calls.start(calls.back()->call());
        if (number % 7 == 3) checked_call(mine.communicator, alltoall_shape(5000), number);
      }
      advance_all(mine.calls);
      expect_right(calls);
      std::size_t sliced = 0;
      for (std::size_t slot = 0; slot < 4; ++slot) {
        for (const std::size_t bytes : kSlicedSizes) {
          const Plan* const plan = mine.communicator.slot(slot).plans.find(alltoall_shape(2 * bytes));
          if (plan != nullptr && plan->chunk_bytes > 0) sliced += plan->algorithm == std::string(row.name) ? 1U : 0U;
        }
      }
      EXPECT_GE(sliced, 3u);
    });
  }
}

// Each size goes in slices. A rank that comes with another one is found out.
TEST(Slices, of_unequal_blocks_are_an_error) {
  for (const SlicedRow& row : kSlicedRows) {
    virtual_world::WorldOptions options = little(row, 2000);
    options.settings.patience_ms = 20;
    world_that_ends_together({0, 0, 0}, options, [&row](Communicator& communicator) {
      EXPECT_STREQ(checked_call(communicator, alltoall_shape(5000), 1).plan->algorithm, row.name);
      const std::size_t bytes = communicator.topology.rank == 0 ? 600 : 400;
      AlltoallCase one(communicator.topology, alltoall_shape(bytes), 2);
      const Outcome outcome = run_collective(communicator, alltoall_shape(bytes), one.buffers());
      EXPECT_TRUE(!outcome.status.ok() || outcome.plan->native());
      EXPECT_TRUE(communicator.broken);
    });
  }
}

}  // namespace
}  // namespace crossrail::tests
