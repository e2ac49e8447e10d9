// One text serves any Group. All-to-alls run over the lanes, the nodes, the leaders and other ranks of a larger world, each compared with the
// definition among the members.

#include "selection/parameters.h"
#include "tests/collectives/allreduce_case.h"
#include "tests/collectives/alltoallv_case.h"
#include "tests/collectives/phases.h"

namespace crossrail::tests {
namespace {

struct NamedGroup {
  const char* name;
  Group group;
};

// Every rank has the same kinds, and is a member of some.
std::vector<NamedGroup> groups_of(const Topology& topology, GroupLists& lists) {
  std::vector<int> backwards, scattered;
  for (const int rank : topology.world()) {
    backwards.insert(backwards.begin(), rank);
    if (rank % 3 != 1) scattered.insert(rank % 2 == 0 ? scattered.begin() : scattered.end(), rank);
  }
  return {{"the lane", topology.lane},
          {"the leaders", topology.leaders},
          {"the node", topology.node_ranks()},
          {"the world", topology.world()},
          {"backwards", lists.make(backwards, topology.rank)},
          {"scattered", lists.make(scattered, topology.rank)}};
}

// Returns the members as a world of their own.
Topology alone(const Group& group) { return topology_from_nodes(Nodes(static_cast<std::size_t>(group.size()), 0), group.index()); }

// Makes the plan as a plan would that has `row` over `group` as a part.
Plan plan_over(const Plan& whole, const Algorithm& row, const Shape& shape, const Group& group) {
  Plan plan = whole;
  plan.shape = shape;
  plan.group = group;
  plan.algorithm = row.name;
  plan.run = row.run;
  plan.parameters = ParameterValues(row.parameters);
  plan.state.reset();
  return plan;
}

// Returns what is wrong after a call over `one` as the definition has it. Other groups of the same kind have other data.
template <class Case, class What>
void check_call(Plan& plan, const Group& group, What what, std::uint64_t call) {
  Case one(alone(group), what, call * 1000 + static_cast<std::uint64_t>(group[0]));
  const Status status = plan.run(plan, one.buffers());
  EXPECT_TRUE(status.ok()) << status.what;
  one.overwrite_send();
  EXPECT_EQ(one.wrong(), "") << plan.algorithm << ", call " << call;
}

void calls_of_blocks(const Plan& whole, const Algorithm& row, const Group& group) {
  for (const std::size_t bytes : {0u, 1u, 8u, 57u, 600u, 5000u}) {
    for (const bool in_place : {false, true}) {
      Plan plan = plan_over(whole, row, alltoall_shape(bytes, in_place), group);
      ASSERT_TRUE(row.plan(plan).ok());
      for (std::uint64_t call = 0; call < 4; ++call) check_call<AlltoallCase>(plan, group, plan.shape, call);
    }
  }
}

void calls_of_vectors(const Plan& whole, const Algorithm& row, const Group& group) {
  Plan plan = plan_over(whole, row, kVectorShape, group);
  ASSERT_TRUE(row.plan(plan).ok());
  for (const Counts counts : kCounts) {
    for (std::uint64_t call = 0; call < 4; ++call) check_call<AlltoallvCase>(plan, group, counts, call);
  }
}

// Counts are small, and such that shares differ.
void calls_of_reductions(const Plan& whole, const Algorithm& row, const Group& group) {
  for (const std::size_t count : {0u, 1u, 2u, 57u, 5000u}) {
    Plan plan = plan_over(whole, row, allreduce_shape(count), group);
    ASSERT_TRUE(row.plan(plan).ok());
    for (std::uint64_t call = 0; call < 4; ++call) {
      AllreduceCase one(alone(group), plan.shape, call * 1000 + static_cast<std::uint64_t>(group[0]), call % 2 == 0 ? Side::apart : Side::in_place);
      const Status status = plan.run(plan, one.buffers());
      EXPECT_TRUE(status.ok()) << status.what;
      one.overwrite_send();
      EXPECT_EQ(one.wrong(), "") << plan.algorithm << ", call " << call;
    }
  }
}

// Makes a call over all ranks, which makes the plan that `row` is to be a part of.
bool first_call(Communicator& communicator, const Shape& shape) {
  switch (shape.collective) {
    case Collective::alltoallv: return checked_vector_call(communicator, Counts::uniform, 1);
    case Collective::allreduce: return checked_allreduce(communicator, shape, 1).status.ok();
    default: return checked_call(communicator, shape, 1).status.ok();
  }
}

void over_all_groups(Communicator& communicator, const Algorithm& row, bool only_the_node) {
  const bool vectors = row.collective == Collective::alltoallv, reduces = row.collective == Collective::allreduce;
  const Shape shape = vectors ? kVectorShape : reduces ? allreduce_shape(2) : alltoall_shape(8);
  ASSERT_TRUE(first_call(communicator, shape));
  Plan* whole = nullptr;
  ASSERT_TRUE(plan_for(communicator.slot(), shape, whole).ok());
  GroupLists lists;
  for (const auto& [name, group] : groups_of(communicator.topology, lists)) {
    if (group.index() < 0 || (only_the_node && std::string(name) != "the node")) continue;
    SCOPED_TRACE(std::string(row.name) + " over " + name + " of rank " + std::to_string(communicator.topology.rank));
    const auto calls = vectors ? calls_of_vectors : reduces ? calls_of_reductions : calls_of_blocks;
    calls(*whole, row, group);
  }
}

// The worlds have equal nodes, one after the other and interleaved; unequal ones; lone ranks; ranks anyhow.
const Nodes kWorlds[] = {{0, 0, 0, 0, 1, 1, 1, 1}, {0, 1, 2, 0, 1, 2, 0, 1, 2}, {0, 0, 0, 1, 1, 2}, {0, 1, 2, 3}, {0, 1, 1, 2, 1, 0, 3, 0}};

void in_all_worlds(Collective collective, const char* algorithm, bool only_the_node = false) {
  const Algorithm* const row = find_algorithm(collective, algorithm);
  ASSERT_NE(row, nullptr);
  for (const std::size_t eager_bytes : {std::size_t{0}, std::size_t{512}}) {
    for (const Nodes& nodes : kWorlds) {
      SCOPED_TRACE(text_of(nodes));
      virtual_world::WorldOptions options;
      options.settings.alltoall = options.settings.alltoallv = "pairwise";  // They are of the calls over all ranks.
      options.settings.allreduce = "ring";
      options.links.eager_bytes = eager_bytes;
      world_that_ends_together(nodes, options, [&](Communicator& communicator) { over_all_groups(communicator, *row, only_the_node); });
    }
  }
}

class Messages : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(alltoall, Messages, testing::Values("linear", "pairwise", "scatter_destination", "bruck"),
                         [](const auto& row) { return std::string(row.param); });
TEST_P(Messages, serve_any_group) { in_all_worlds(Collective::alltoall, GetParam()); }

class VectorMessages : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(alltoallv, VectorMessages, testing::Values("pairwise", "scatter_destination"),
                         [](const auto& row) { return std::string(row.param); });
TEST_P(VectorMessages, serve_any_group) { in_all_worlds(Collective::alltoallv, GetParam()); }

class ReducingMessages : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(allreduce, ReducingMessages, testing::Values("recursive_doubling", "rabenseifner", "ring"),
                         [](const auto& row) { return std::string(row.param); });
TEST_P(ReducingMessages, serve_any_group) { in_all_worlds(Collective::allreduce, GetParam()); }

// What goes through the segment serves the node, in a larger world too.
class Memory : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(alltoall, Memory, testing::Values("node_shared", "node_single_copy"),
                         [](const auto& row) { return std::string(row.param); });
TEST_P(Memory, serves_the_node_of_a_larger_world) { in_all_worlds(Collective::alltoall, GetParam(), true); }
TEST(ReducingMemory, serves_the_node_of_a_larger_world) { in_all_worlds(Collective::allreduce, "node_shared", true); }

}  // namespace
}  // namespace crossrail::tests
