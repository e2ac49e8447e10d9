// These tests check the order in which ranks of a node combine.

#include <random>

#include "tests/collectives/allreduce_case.h"

namespace crossrail::tests {
namespace {

virtual_world::WorldOptions forced(const std::string& algorithm) {
  virtual_world::WorldOptions options;
  options.settings.allreduce = algorithm;
  return options;
}

// What is inexact depends on the order. In a node the order is that of recursive doubling, which MPI libraries have, too.
std::vector<float> inexact_sums(Communicator& communicator, std::size_t count) {
  std::mt19937 random(static_cast<unsigned>(communicator.topology.rank));
  std::uniform_real_distribution<float> some(-1, 1);
  std::vector<float> send(count), recv(count);
  for (float& one : send) one = some(random);
  const Shape shape = allreduce_shape(count, {Operation::sum, Element::float32});
  const Buffers buffers{reinterpret_cast<const std::byte*>(send.data()), reinterpret_cast<std::byte*>(recv.data())};
  EXPECT_TRUE(run_collective(communicator, shape, buffers).status.ok());
  return recv;
}

TEST(Order, in_a_node_is_that_of_recursive_doubling) {
  for (const int ranks : {2, 3, 4, 5, 6, 7, 8, 9, 13, 24, 32}) {
    for (const std::size_t count : {1, 20, 5000, 70'001}) {
      if (ranks > 13 && count > 20) continue;
      std::vector<std::vector<float>> sums;
      for (const char* row : {"node_shared", "node_shared flat=0", "node_shared flat=64", "node_single_copy", "recursive_doubling"}) {
        virtual_world::world(Nodes(static_cast<std::size_t>(ranks), 0), forced(row), [&](Communicator& communicator) {
          const std::vector<float> mine = inexact_sums(communicator, count);
          if (communicator.topology.rank == ranks / 2) sums.push_back(mine);
        });
      }
      ASSERT_EQ(sums.size(), 5u);
      for (const std::vector<float>& its : sums) {
        EXPECT_TRUE(std::memcmp(sums[0].data(), its.data(), count * sizeof(float)) == 0) << ranks << " ranks, " << count << " floats";
      }
    }
  }
}

}  // namespace
}  // namespace crossrail::tests
