// Every algorithm is right in simulated time, comes to the same times each time, and moves what the papers say.
#include "collectives/algorithm.h"
#include "tests/simulated_world/simulated_case.h"

namespace crossrail::tests {
namespace {

using simulated_world::Cell;
using simulated_world::Job;

#if defined(__SANITIZE_ADDRESS__)
constexpr int kManyNodes = 32, kManyRanks = 8;
#else
constexpr int kManyNodes = 128, kManyRanks = 56;
#endif

const std::vector<std::vector<int>> kWorlds = {{0, 0, 0, 0, 0}, {0, 0, 0, 1, 1, 2, 2, 2}, {0, 1, 0, 1, 0}, {0, 1, 2, 3}, {0, 1, 2, 3, 4, 0, 1, 2, 3}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}};

class Collectives : public ::testing::TestWithParam<Collective> {};

TEST_P(Collectives, are_right_by_every_algorithm) {
  int ran = 0;
  for (const std::vector<int>& node_of : kWorlds) {
    for (const Algorithm& algorithm : catalogue(GetParam())) {
      Job job = some_job(node_of, {algorithm.name}, {4, 64, 1000, 20000});
      job.collective = GetParam();
      for (const Cell& cell : cells_of(job)) {
        SCOPED_TRACE(cell.algorithm + " of " + std::to_string(cell.bytes) + " bytes on " + std::to_string(node_of.size()) + " ranks");
        EXPECT_EQ(cell.error.find("wait for ever"), std::string::npos) << cell.error;
        EXPECT_EQ(cell.error.empty(), cell.checked) << cell.error;
        if (!cell.error.empty()) continue;
        EXPECT_GT(cell.time_us, 0);
        ++ran;
      }
    }
  }
  EXPECT_GT(ran, 40);
}

INSTANTIATE_TEST_SUITE_P(All, Collectives, ::testing::Values(Collective::alltoall, Collective::alltoallv, Collective::allgather, Collective::allreduce, Collective::reduce_scatter_block),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(Simulation, comes_to_the_same_times_again) {
  const Job job = some_job(nodes_of(8, 7), {"auto", "leader_pipelined", "pairwise", "bruck"}, {8, 300, 5000});
  const std::vector<Cell> first = cells_of(job), again = cells_of(job);
  ASSERT_EQ(first.size(), 12u);
  for (std::size_t number = 0; number < first.size(); ++number) EXPECT_EQ(first[number].time_us, again[number].time_us) << first[number].algorithm;
}

TEST(Simulation, has_the_same_times_whether_data_are_moved_or_not) {
  Job job = some_job(nodes_of(4, 6), {"leader_pipelined", "matrix_block", "node_leaders", "pairwise", "bruck", "scatter_destination"}, {8, 2000});
  const std::vector<Cell> moved = cells_of(job);
  job.check_up_to = 0;
  const std::vector<Cell> charged = cells_of(job);
  for (std::size_t number = 0; number < moved.size(); ++number) {
    EXPECT_TRUE(moved[number].checked);
    EXPECT_FALSE(charged[number].checked);
    EXPECT_EQ(moved[number].time_us, charged[number].time_us) << moved[number].algorithm;
  }
}

// OHIO paper, Tables I and III.
TEST(Simulation, moves_what_the_paper_says_on_as_many_ranks_as_in_the_paper) {
  constexpr std::uint64_t n = kManyNodes, ppn = kManyRanks, m = 8;
  Job job = some_job(nodes_of(kManyNodes, kManyRanks), {"leader_pipelined leaders=1"}, {m});
  job.calls = 1;
  job.check_up_to = 0;
  const std::vector<Cell> cells = cells_of(job);
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_EQ(cells[0].error, "");
  EXPECT_EQ(cells[0].queue_pairs, n - 1);
  EXPECT_EQ(cells[0].traffic.sends, n - 1);
  EXPECT_EQ(cells[0].node_bytes, (n + 2) * m * ppn * ppn);
  EXPECT_EQ(cells[0].messages, n * (n - 1));
  EXPECT_LT(cells[0].rank_bytes, 1u << 20);
}

TEST(Simulation, ends_where_flat_reliable_connections_need_too_many_queue_pairs) {
  Job job = some_job(nodes_of(4, 4), {"pairwise", "leader_pipelined leaders=1"}, {8});
  job.machine.queue_pairs = 40;  // pairwise needs 3 * 4 * 4 a node.
  const std::vector<Cell> cells = cells_of(job);
  EXPECT_NE(cells[0].error.find("more than its 40 queue pairs"), std::string::npos) << cells[0].error;
  EXPECT_EQ(cells[1].error, "");
  job.machine.transport = 1;
  EXPECT_EQ(cells_of(job)[0].error, "");
}

TEST(Simulation, waits_for_a_late_rank) {
  Job job = some_job(nodes_of(3, 4), {"leader_pipelined", "pairwise"}, {8});
  const std::vector<Cell> together = cells_of(job);
  job.late_rank = 5;
  job.late = simulated_world::Machine::time(50'000);
  const std::vector<Cell> late = cells_of(job);
  for (std::size_t number = 0; number < together.size(); ++number) {
    EXPECT_GT(late[number].time_us, 0);
    EXPECT_LT(late[number].time_us, 1.2 * together[number].time_us);  // It is the time from when the late rank begins.
  }
}

TEST(Simulation, takes_the_algorithm_that_a_contender_has_for_a_size) {
  Job job = some_job(nodes_of(2, 4), {}, {8, 100, 5000});
  job.contenders.push_back({"peer", {{64, "bruck"}, {1000, "pairwise"}}});
  const std::vector<Cell> cells = cells_of(job);
  ASSERT_EQ(cells.size(), 2u);  // It has none for the third size.
  EXPECT_EQ(cells[0].algorithm, "peer");
  EXPECT_EQ(cells[0].chosen, "bruck");
  EXPECT_EQ(cells[1].chosen, "pairwise");
}

TEST(Simulation, says_that_the_mpi_library_would_do_a_call) {
  Job job = some_job(nodes_of(3, 2), {"auto"}, {std::size_t{4} << 20});
  job.check_up_to = 0;
  EXPECT_NE(cells_of(job)[0].error.find("the MPI library would do it"), std::string::npos);
}

}  // namespace
}  // namespace crossrail::tests
