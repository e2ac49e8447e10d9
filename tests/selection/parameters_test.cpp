// These tests check parameters as declared, as written, and with the values that count.

#include "selection/parameters.h"

#include <gtest/gtest.h>

#include <set>

#include "collectives/parameters.h"

namespace crossrail::tests {
namespace {

const Algorithm& row(const char* name) { return *find_algorithm(Collective::alltoall, name); }

TEST(Parameters, are_declared_once_with_values_worth_trying) {
  for (const Collective collective : kCollectives) {
    for (const Memory memory : kMemories) {
      for (const Algorithm& algorithm : catalogue(collective, memory)) {
        std::set<std::string> names;
        for (const Parameter* one : algorithm.parameters) {
          EXPECT_TRUE(names.insert(one->name).second) << algorithm.name << ": " << one->name;
          EXPECT_GT(std::string(one->help).size(), 10u) << one->name;
          const std::set<std::uint64_t> values(one->values.begin(), one->values.end());
          EXPECT_EQ(values.size(), one->values.size()) << one->name;
          EXPECT_TRUE(values.empty() || values.count(one->preset) == 1) << one->name << ": the default is worth trying";
        }
      }
    }
  }
}

TEST(Parameters, rows_have_those_that_stand_in_them) {
  ASSERT_EQ(row("node_shared").parameters.size(), 2u);
  EXPECT_EQ(row("node_shared").parameters[0], &parameters::packet);
  EXPECT_EQ(row("node_shared").parameters[1], &parameters::chunk);
  EXPECT_TRUE(row("matrix_block").parameters.empty());
}

TEST(Parameters, are_words_with_numbers) {
  Parameters found;
  ASSERT_TRUE(read_parameters(" packet=512  chunk=4K ", found).ok());
  EXPECT_EQ(found, (Parameters{{"packet", 512}, {"chunk", 4096}}));
  for (const char* text : {"packet", "packet=", "packet=-1", "=1", "packet = 1", "packet=1 x"}) {
    EXPECT_EQ(read_parameters(text, found).code, Code::invalid) << text;
  }
}

TEST(Parameters, units_limit_them) {
  Topology topology = topology_from_nodes({0, 0, 0, 1, 1}, 0);
  EXPECT_EQ(limited(100, Unit::bytes, topology), 100u);
  EXPECT_EQ(limited(0, Unit::row_bytes, topology), 0u);
  EXPECT_EQ(limited(100, Unit::ranks, topology), 5u);
  EXPECT_EQ(limited(100, Unit::nodes, topology), 2u);
  EXPECT_EQ(limited(100, Unit::node_ranks, topology), 2u);
  EXPECT_EQ(limited(0, Unit::ranks, topology), 1u);
}

TEST(Wanted, senseless_ones_are_ignored_in_one_sentence) {
  Settings settings;
  settings.alltoall = "node_shared packet=2K";
  settings.alltoallv = "node_shared direct=1 packet=3";
  EXPECT_EQ(ignore_senseless_algorithms(settings), "");
  EXPECT_EQ(settings.alltoall, "node_shared packet=2K");
  settings.alltoall = "node_shared pakcet=2K";
  settings.alltoallv = "brook";
  EXPECT_EQ(ignore_senseless_algorithms(settings),
            "CROSSRAIL_ALLTOALL=node_shared pakcet=2K is ignored: node_shared has no parameter 'pakcet'; it has packet, chunk; "
            "CROSSRAIL_ALLTOALLV=brook is ignored: alltoallv has no algorithm 'brook' (see 'crossrail list')");
  EXPECT_TRUE(settings.alltoall.empty() && settings.alltoallv.empty());
}

TEST(Wanted, may_be_of_device_memory_or_native) {
  for (const char* text : {"native", "hybrid ipc_threshold=1K", "ipc_copy_push", ""}) EXPECT_TRUE(makes_sense("CROSSRAIL_ALLTOALL", text)) << text;
  for (const char* text : {"native packet=1", "hybrid packet=1", "hybrid ipc_threshold", "packet packet=1"}) {
    EXPECT_FALSE(makes_sense("CROSSRAIL_ALLTOALL", text)) << text;
  }
  EXPECT_FALSE(makes_sense("CROSSRAIL_ALLTOALLV", "hybrid"));
  EXPECT_TRUE(makes_sense("CROSSRAIL_SCRATCH", "hybrid")) << "not its business";
}

}  // namespace
}  // namespace crossrail::tests
