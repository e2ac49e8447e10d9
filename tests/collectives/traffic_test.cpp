// A run counts what algorithms move, against Tables I and III of the OHIO paper: queue pairs (distinct ranks elsewhere that the ranks of a node send
// to), sends and extra memory of a node.

#include "tests/collectives/alltoall_case.h"

namespace crossrail::tests {
namespace {

constexpr std::size_t kBlock = 100;

struct NodeTraffic {
  std::uint64_t queue_pairs = 0, sends = 0, sent_bytes = 0, node_bytes = 0, staged_bytes = 0;
};

// Returns the traffic of every node, in one call with `node_size` ranks on each of `nodes` nodes. `algorithm` is its name, with parameters behind a
// blank.
std::vector<NodeTraffic> traffic_of(const std::string& algorithm, int nodes, int node_size) {
  const std::string name = algorithm.substr(0, algorithm.find(' '));
  Nodes node_of;
  for (int rank = 0; rank < nodes * node_size; ++rank) node_of.push_back(rank / node_size);
  virtual_world::WorldOptions options;
  options.settings.alltoall = algorithm;
  virtual_world::ThreadWorld threads(node_of, options);
  std::vector<Plan*> plans(node_of.size());
  threads.run([&](Communicator& communicator) {
    for (std::uint64_t call = 0; call < 3; ++call) {
      const Outcome outcome = checked_call(communicator, alltoall_shape(kBlock), call);
      EXPECT_EQ(outcome.plan->algorithm, name);
    }
    Plan*& plan = plans[static_cast<std::size_t>(communicator.topology.rank)];
    EXPECT_TRUE(plan_for(communicator.slot(), alltoall_shape(kBlock), plan).ok());
  });
  std::vector<NodeTraffic> traffic(static_cast<std::size_t>(nodes));
  for (std::size_t rank = 0; rank < plans.size(); ++rank) {
    const Plan& plan = *plans[rank];
    NodeTraffic& node = traffic[static_cast<std::size_t>(node_of[rank])];
    EXPECT_EQ(plan.calls, 3u);
    EXPECT_EQ(plan.total.sends, 3 * plan.last.sends);
    EXPECT_EQ(plan.total.staged_bytes, 3 * plan.last.staged_bytes);
    EXPECT_EQ(plan.last.sends + plan.last.local_sends, threads.counters(static_cast<int>(rank)).sends / 3);
    node.queue_pairs += static_cast<std::uint64_t>(std::count(plan.remote_partners.begin(), plan.remote_partners.end(), true));
    node.sends += plan.last.sends;
    node.sent_bytes += plan.last.sent_bytes;
    node.staged_bytes += plan.last.staged_bytes;
    node.node_bytes = plan.node_bytes;
  }
  return traffic;
}

struct Expected {
  std::uint64_t queue_pairs, sends, blocks_of_memory;
};

void expect_table(const char* algorithm, Expected (*table)(std::uint64_t nodes, std::uint64_t ppn)) {
  for (const int nodes : {2, 3, 4, 5}) {
    for (const int ppn : {1, 2, 3}) {
      SCOPED_TRACE(std::string(algorithm) + " on " + std::to_string(nodes) + " nodes of " + std::to_string(ppn));
      const Expected expected = table(static_cast<std::uint64_t>(nodes), static_cast<std::uint64_t>(ppn));
      for (const NodeTraffic& node : traffic_of(algorithm, nodes, ppn)) {
        EXPECT_EQ(node.queue_pairs, expected.queue_pairs);
        EXPECT_EQ(node.sends, expected.sends);
        EXPECT_EQ(node.node_bytes, expected.blocks_of_memory * kBlock);
        EXPECT_EQ(node.sent_bytes, kBlock * static_cast<std::uint64_t>((nodes - 1) * ppn * ppn));
      }
    }
  }
}

TEST(Traffic, of_leader_staged) {
  expect_table("leader_staged", [](std::uint64_t n, std::uint64_t ppn) { return Expected{n - 1, (n - 1) * ppn, 2 * n * ppn * ppn}; });
}
TEST(Traffic, of_leader_coalesced) {
  expect_table("leader_coalesced", [](std::uint64_t n, std::uint64_t ppn) { return Expected{n - 1, n - 1, 2 * n * ppn * ppn}; });
}
TEST(Traffic, of_leader_pipelined) {
  expect_table("leader_pipelined", [](std::uint64_t n, std::uint64_t ppn) { 
    // The second region for what arrives is of no use to two nodes.
    return Expected{n - 1, n - 1, (n + std::min<std::uint64_t>(2, n - 1)) * ppn * ppn};
  });
}
TEST(Traffic, of_hierarchical_datatype) {
  expect_table("hierarchical_datatype", [](std::uint64_t n, std::uint64_t ppn) { return Expected{n - 1, n - 1, 2 * n * ppn * ppn}; });
}
TEST(Traffic, of_matrix_block) {
  expect_table("matrix_block", [](std::uint64_t n, std::uint64_t ppn) { return Expected{n - 1, n - 1, 2 * n * ppn * ppn}; });
}
TEST(Traffic, of_node_leaders) {
  expect_table("node_leaders", [](std::uint64_t n, std::uint64_t ppn) { return Expected{(n - 1) * ppn, (n - 1) * ppn, n * ppn * ppn}; });
}
TEST(Traffic, of_flat_algorithms) {
  for (const char* algorithm : {"linear", "pairwise", "scatter_destination"}) {
    expect_table(algorithm, [](std::uint64_t n, std::uint64_t ppn) { return Expected{(n - 1) * ppn * ppn, (n - 1) * ppn * ppn, 0}; });
  }
}

// With packets every rank writes all its blocks into the node's segment, and those for others in chunks.
TEST(Traffic, of_node_shared) {
  for (const int size : {2, 3, 5}) {
    const std::uint64_t ranks = static_cast<std::uint64_t>(size);
    for (const auto& [algorithm, blocks] : {std::pair{"node_shared packet=1M", ranks * ranks}, {"node_shared packet=0", ranks * (ranks - 1)}}) {
      for (const NodeTraffic& node : traffic_of(algorithm, 1, size)) {
        EXPECT_EQ(node.staged_bytes, blocks * kBlock) << algorithm;
        EXPECT_EQ(node.sends, 0u);
      }
    }
  }
}

// The table says about PPN log2(N PPN): every rank sends ceil(log2 p) messages, some of them in its node.
TEST(Traffic, of_bruck) {
  for (const int nodes : {2, 3, 4, 5}) {
    for (const int ppn : {1, 2, 3}) {
      std::uint64_t steps = 0;
      while (1 << steps < nodes * ppn) ++steps;
      for (const NodeTraffic& node : traffic_of("bruck", nodes, ppn)) {
        EXPECT_LE(node.queue_pairs, static_cast<std::uint64_t>(ppn) * steps);
        EXPECT_LE(node.sends, static_cast<std::uint64_t>(ppn) * steps);
        if (ppn == 1) {
          EXPECT_EQ(node.sends, steps);
        }
      }
    }
  }
}

}  // namespace
}  // namespace crossrail::tests
