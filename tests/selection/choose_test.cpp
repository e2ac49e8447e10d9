#include <gtest/gtest.h>

#include "tests/selection/chosen.h"

namespace crossrail::tests {
namespace {

using Names = std::vector<std::string>;

Topology topology(const std::vector<int>& node_of, int rank = 0) {
  Topology made = topology_from_nodes(node_of, rank);
  made.shared_segment = made.largest_node() > 1;
  made.single_copy = made.shared_segment;
  made.scratch_bytes = 64 << 20;
  return made;
}

std::vector<TuningRow> table(const std::string& csv) {
  std::vector<TuningRow> rows;
  const Status read = read_tuning(csv, "t", rows);
  EXPECT_TRUE(read.ok()) << read.what;
  return rows;
}

std::vector<Chosen> candidates(const std::string& csv, const std::string& wanted, const std::vector<int>& node_of,
                                  std::uint64_t bytes) {
  return choose(table(csv), wanted, {topology(node_of)}, {Collective::alltoall, Memory::host, false, bytes});
}

Names names(const std::string& csv, const std::string& wanted, const std::vector<int>& node_of, std::uint64_t bytes) {
  Names found;
  for (const Chosen& one : candidates(csv, wanted, node_of, bytes)) {
    found.push_back(one.algorithm == nullptr ? "native" : one.algorithm->name);
  }
  return found;
}

TEST(Choose, without_rows_there_is_native) { EXPECT_EQ(names("", "", {0, 0}, 8), Names{"native"}); }

TEST(Choose, rows_come_in_their_order_then_native) {
  EXPECT_EQ(names("alltoall,host,*,*,*,bruck,\nalltoall,host,*,*,*,linear,\n", "", {0, 0}, 8),
            (Names{"bruck", "linear", "native"}));
}

Names names_in_order(const std::string& csv, const std::string& wanted, const std::vector<int>& node_of, Shape shape, Reduction reduction) {
  Topology ordered = topology(node_of);
  ordered.rank_order = true;
  shape.reduction = reduction;
  Names found;
  for (const Chosen& one : choose(table(csv), wanted, {ordered}, shape)) found.push_back(one.algorithm == nullptr ? "native" : one.algorithm->name);
  return found;
}

// Rows with an order of their own do not fit, native is the last resort only, and what has the order needs no row.
TEST(Choose, the_order_of_the_ranks) {
  const Reduction inexact{Operation::sum, Element::float64}, exact{Operation::sum, Element::int32};
  const Shape sum{Collective::allreduce, Memory::host, false, 800}, scattered{Collective::reduce_scatter_block, Memory::host, false, 800};
  const std::string rows = "allreduce,host,*,*,*,native,\nallreduce,host,*,*,*,multi_lane,\n";
  EXPECT_EQ(names_in_order(rows, "ring", {0, 0, 1, 1}, sum, inexact), (Names{"rank_order", "native"}));
  EXPECT_EQ(names_in_order(rows, "native", {0, 0, 0}, sum, inexact), (Names{"node_shared", "rank_order", "native"}));
  EXPECT_EQ(names_in_order(rows, "ring", {0, 0, 1, 1}, sum, exact), (Names{"ring", "multi_lane", "rank_order", "native"}));
  EXPECT_EQ(names_in_order(rows, "recursive_doubling", {0, 1}, sum, inexact), (Names{"recursive_doubling", "rank_order", "native"}));
  EXPECT_EQ(names_in_order("allreduce,host,*,*,*,rank_order,\n", "node_shared", {0, 0}, sum, inexact), (Names{"node_shared", "rank_order", "native"})) << "once each";
  EXPECT_EQ(names_in_order("", "multi_lane", {0, 1, 1}, scattered, inexact), (Names{"pairwise", "native"}));
  EXPECT_EQ(names_in_order("alltoall,host,*,*,*,native,\n", "", {0, 1}, {Collective::alltoall, Memory::host, false, 8}, {}), (Names{"native", "native"}))
      << "what combines nothing";
}

TEST(Choose, the_order_of_the_ranks_of_calls_that_may_be_pending) {
  Topology ordered = topology({0, 0, 1});
  ordered.rank_order = true;
  Shape sum{Collective::allreduce, Memory::host, false, 800};
  sum.reduction = {Operation::sum, Element::float32};
  Ground pending{ordered};
  pending.form = Form::pending;
  for (const Chosen& one : choose(table("allreduce,host,*,*,*,native,\n"), "", pending, sum)) EXPECT_STREQ(one.algorithm->name, "rank_order");
  EXPECT_FALSE(choose({}, "", pending, sum).empty());
  pending.messages = false;
  EXPECT_TRUE(choose({}, "", pending, sum).empty()) << "without messages nothing can be sure to end";
  Settings settings;
  EXPECT_FALSE(could_serve({}, settings, ordered, false));
  settings.reproducible = 1;
  EXPECT_TRUE(could_serve({}, settings, ordered, false)) << "needs no rows";
}

TEST(Choose, nothing_is_kept_for_what_no_row_can_serve) {
  const auto serves = [](const std::string& csv, const std::vector<int>& node_of, bool devices = false) {
    return could_serve(table(csv), Settings{}, topology(node_of), devices);
  };
  const std::string two_nodes = "alltoall,host,2,2-,8,node_leaders,\n";
  EXPECT_TRUE(serves(two_nodes, {0, 0, 1, 1}));
  EXPECT_TRUE(serves(two_nodes, {0, 1, 1})) << "the largest node counts";
  EXPECT_FALSE(serves(two_nodes, {0, 0}));
  EXPECT_FALSE(serves(two_nodes, {0, 1})) << "one rank a node";
  EXPECT_FALSE(serves(two_nodes, {0, 0, 1, 1, 2, 2}));
  EXPECT_FALSE(serves("alltoall,host,*,*,*,native,\n", {0, 0}));
  EXPECT_TRUE(serves("alltoall,device,1,2-,*,hybrid,\n", {0, 0})) << "device memory may come";
  EXPECT_FALSE(serves("alltoall,device,2,*,*,pairwise,\n", {0, 1})) << "of several nodes, only where there are devices";
  EXPECT_TRUE(serves("alltoall,device,2,*,*,pairwise,\n", {0, 1}, true));
  EXPECT_FALSE(serves("", {0}, true)) << "calls on device memory, too, can be native: the MPI library gets copies";
  EXPECT_FALSE(serves("", {0, 0}));
  EXPECT_TRUE(serves("collective,memory,mpi,nodes,ranks_per_node,up_to_bytes,algorithm\nalltoall,host,*,1,2-,*,bruck\n", {0, 0}));
  EXPECT_FALSE(serves("collective,memory,mpi,nodes,ranks_per_node,up_to_bytes,algorithm\nalltoall,host,mpich,1,2-,*,bruck\n", {0, 0}));
}

TEST(Choose, a_setting_may_serve_where_no_row_does) {
  Settings settings;
  settings.alltoallv = "pairwise";
  EXPECT_TRUE(could_serve({}, settings, topology({0, 1}), false));
  settings.alltoallv = "native";
  EXPECT_FALSE(could_serve({}, settings, topology({0, 1}), false));
}

TEST(Choose, built_in_rows_serve_any_number_of_nodes) {
  std::vector<TuningRow> built_in;
  ASSERT_TRUE(read_tuning(default_tuning(), "default.csv", built_in).ok());
  std::vector<int> node_of;
  for (int node = 0; node < 200; ++node) {
    node_of.insert(node_of.end(), 2, node);
    EXPECT_TRUE(could_serve(built_in, Settings{}, topology(node_of), false)) << node + 1 << " nodes";
  }
}

TEST(Choose, the_setting_comes_first) {
  EXPECT_EQ(names("alltoall,host,*,*,*,bruck,\n", "pairwise", {0, 0}, 8), (Names{"pairwise", "bruck", "native"}));
  EXPECT_EQ(candidates("", "pairwise", {0, 0}, 8)[0].origin, "setting");
}

TEST(Choose, the_setting_may_say_native) {
  EXPECT_EQ(names("alltoall,host,*,*,*,bruck,\n", "native", {0, 0}, 8)[0], "native");
}

TEST(Choose, a_row_that_says_native_is_not_the_last_resort) {
  const auto all = candidates("alltoall,host,*,*,*,native,\n", "", {0, 0}, 8);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_FALSE(all[0].fallback);
  EXPECT_TRUE(all[1].fallback);
}

TEST(Choose, rows_are_for_one_kind_of_memory) {
  const auto rows = table("alltoall,host,*,*,*,bruck,\nalltoall,device,*,*,*,hybrid,ipc_threshold=1K\n");
  const auto all = choose(rows, "", {topology({0, 0})}, {Collective::alltoall, Memory::device, false, 8});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_STREQ(all[0].algorithm->name, "hybrid");
  EXPECT_EQ(all[0].parameters, (Parameters{{"ipc_threshold", 1024}, {"memcpy_threshold", 512 * 1024}}));
}

TEST(Choose, the_setting_may_have_parameters) {
  const auto one = candidates("", "node_shared packet=100 chunk=2K", {0, 0}, 8)[0];
  ASSERT_NE(one.algorithm, nullptr);
  EXPECT_STREQ(one.algorithm->name, "node_shared");
  EXPECT_EQ(one.parameters, (Parameters{{"packet", 100}, {"chunk", 2048}}));
}

TEST(Choose, a_setting_that_is_unknown_or_does_not_fit_is_passed_over_and_said) {
  const auto unknown = candidates("alltoall,host,*,*,*,bruck,\n", "brook", {0, 0}, 8);
  EXPECT_STREQ(unknown[0].algorithm->name, "bruck");
  EXPECT_NE(unknown[0].passed_over.find("alltoall has no algorithm 'brook'"), std::string::npos) << unknown[0].passed_over;
  const auto unfit = candidates("alltoall,host,*,*,*,bruck,\n", "node_shared", {0, 1}, 8);
  EXPECT_STREQ(unfit[0].algorithm->name, "bruck");
  EXPECT_NE(unfit[0].passed_over.find("node_shared of setting does not fit"), std::string::npos);
}

TEST(Choose, a_setting_with_senseless_parameters_is_passed_over_and_said) {
  for (const char* wanted : {"linear packet=1", "node_shared pakcet=1", "node_shared packet", "node_shared packet=x", "native packet=1"}) {
    const auto all = candidates("alltoall,host,*,*,*,bruck,\n", wanted, {0, 0}, 8);
    EXPECT_STREQ(all[0].algorithm->name, "bruck") << wanted;
    EXPECT_NE(all[0].passed_over.find("the setting is ignored"), std::string::npos) << all[0].passed_over;
  }
}

TEST(Choose, all_parameters_have_values) {
  const auto one = candidates("", "leader_pipelined leaders=3", {0, 0, 0, 1, 1}, 8)[0];
  EXPECT_EQ(one.parameters, (Parameters{{"leaders", 3}, {"split", 16 * 1024}, {"ahead", 16}}));
  EXPECT_EQ(candidates("", "scatter_destination", {0, 0, 0}, 8)[0].parameters, (Parameters{{"throttle", 32}}));
  EXPECT_TRUE(candidates("", "bruck", {0, 0, 0}, 8)[0].parameters.empty());
}

TEST(Choose, rows_may_be_for_an_mpi_library_and_for_ranks_of_a_device) {
  const auto rows = table("collective,memory,mpi,nodes,ranks_per_node,ranks_per_device,up_to_bytes,algorithm\n"
                          "alltoall,host,openmpi4-5,*,*,*,*,bruck\nalltoall,host,*,*,*,2-,*,linear\n");
  const auto chosen = [&](const char* mpi, int ranks_per_device) {
    Topology here = topology({0, 0});
    here.mpi = mpi;
    const auto all = choose(rows, "", {here, true, ranks_per_device}, {Collective::alltoall, Memory::host, false, 8});
    return std::string(all[0].algorithm == nullptr ? "native" : all[0].algorithm->name);
  };
  EXPECT_EQ(chosen("openmpi4.1.6", 1), "bruck");
  EXPECT_EQ(chosen("openmpi3.1", 1), "native");
  EXPECT_EQ(chosen("mpich5.0.2", 2), "linear");
  EXPECT_EQ(chosen("", 1), "native");
}

TEST(Choose, up_to_bytes_includes_its_limit) {
  const std::string csv = "alltoall,host,*,*,64,bruck,\nalltoall,host,*,*,*,linear,\n";
  EXPECT_EQ(names(csv, "", {0, 0}, 64)[0], "bruck");
  EXPECT_EQ(names(csv, "", {0, 0}, 65)[0], "linear");
  EXPECT_EQ(names(csv, "", {0, 0}, ~std::uint64_t{0})[0], "linear");
}

TEST(Choose, nodes_and_ranks_per_node_are_ranges) {
  const auto chosen = [](const std::string& nodes, const std::string& ranks, const std::vector<int>& node_of) {
    return names("alltoall,host," + nodes + "," + ranks + ",*,linear,\n", "", node_of, 8)[0] == "linear";
  };
  EXPECT_TRUE(chosen("1", "3", {0, 0, 0}));
  EXPECT_FALSE(chosen("2", "*", {0, 0, 0}));
  EXPECT_FALSE(chosen("*", "2", {0, 0, 0}));
  EXPECT_TRUE(chosen("2-", "*", {0, 1, 2}));
  EXPECT_FALSE(chosen("2-", "*", {0, 0}));
  EXPECT_TRUE(chosen("2-3", "1", {0, 1, 2}));
  EXPECT_FALSE(chosen("2-3", "1", {0, 1, 2, 3}));
  EXPECT_TRUE(chosen("2", "3", {0, 1, 1, 1})) << "of the largest node";
}

TEST(Choose, other_collectives_and_memories_do_not_count) {
  EXPECT_EQ(names("allreduce,host,*,*,*,linear,\nalltoall,device,*,*,*,linear,\n", "", {0, 0}, 8), Names{"native"});
}

// The MPI library knows no streams, and not every algorithm does.
TEST(Choose, streams_have_rows_of_their_own_and_no_native) {
  const Shape in_a_stream{Collective::alltoall, Memory::device, false, 8, Order::stream};
  const auto of = [&](const std::string& csv, const std::string& wanted) {
    Names found;
    for (const Chosen& one : choose(table(csv), wanted, {topology({0, 0})}, in_a_stream)) found.push_back(one.algorithm->name);
    return found;
  };
  EXPECT_EQ(of("alltoall,device,*,*,*,packet,\nalltoall,stream,*,*,*,hybrid,\nalltoall,stream,*,*,*,native,\n", ""), Names{"hybrid"});
  EXPECT_EQ(of("alltoall,stream,*,*,*,hybrid,\n", "native"), Names{"hybrid"});
  EXPECT_EQ(of("alltoall,stream,*,*,*,hybrid,\n", "ipc_resident_push"), Names{"hybrid"});
  EXPECT_EQ(of("alltoall,stream,*,*,*,hybrid,\n", "ipc_copy_pull"), (Names{"ipc_copy_pull", "hybrid"}));
  EXPECT_EQ(of("alltoall,device,*,*,*,packet,\n", ""), Names{});
}

TEST(Choose, parameters_and_origin_come_from_the_row) {
  const auto one = candidates("# one\nalltoall,host,*,*,*,node_shared,packet=8\n", "", {0, 0}, 8)[0];
  EXPECT_EQ(one.parameters, (Parameters{{"packet", 8}, {"chunk", 32 * 1024}}));
  EXPECT_EQ(one.origin, "t:2");
}

// The choice is the same on every rank, or ranks would choose different rows.
TEST(Choose, does_not_depend_on_the_rank) {
  std::vector<TuningRow> rows;
  ASSERT_TRUE(read_tuning(default_tuning(), "default.csv", rows).ok());
  for (const auto& node_of : {std::vector<int>{0, 0, 0}, std::vector<int>{0, 1, 1, 2, 2, 2}}) {
    for (std::uint64_t bytes = 0; bytes < (1 << 22); bytes = bytes * 3 + 1) {
      std::vector<std::string> first;
      for (int rank = 0; rank < static_cast<int>(node_of.size()); ++rank) {
        const Topology mine = topology(node_of, rank);
        std::vector<std::string> found;
        for (const auto& one : choose(rows, "", {mine}, {Collective::alltoall, Memory::host, false, bytes})) {
          found.push_back(one.origin);
        }
        if (rank == 0) first = found;
        EXPECT_EQ(found, first);
      }
    }
  }
}

}  // namespace
}  // namespace crossrail::tests
