#include <gtest/gtest.h>

#include <algorithm>

#include "selection/selection.h"

namespace crossrail::tests {
namespace {

TEST(TuningTable, reads_rows) {
  std::vector<TuningRow> rows;
  const Status status = read_tuning(
      "# a comment\n\ncollective,memory,nodes,ranks_per_node,up_to_bytes,algorithm,parameters\n"
      "alltoall, host , 1, 2-8, 4K, node_shared, packet=512 chunk=64K  # and why\r\n"
      "alltoall,host,2-,*,*,pairwise\n",
      "my.csv", rows);
  ASSERT_TRUE(status.ok()) << status.what;
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].collective, "alltoall");
  EXPECT_EQ(rows[0].memory, "host");
  EXPECT_TRUE(rows[0].nodes.contains(1) && !rows[0].nodes.contains(2));
  EXPECT_TRUE(rows[0].ranks_per_node.contains(2) && rows[0].ranks_per_node.contains(8) && !rows[0].ranks_per_node.contains(9));
  EXPECT_TRUE(rows[0].mpi.library.empty() && rows[0].ranks_per_device.contains(3));
  EXPECT_EQ(rows[0].up_to_bytes, 4096u);
  EXPECT_EQ(rows[0].algorithm, "node_shared");
  EXPECT_EQ(rows[0].parameters, (Parameters{{"packet", 512}, {"chunk", 65536}}));
  EXPECT_EQ(rows[0].origin, "my.csv:4");
  EXPECT_EQ(rows[1].up_to_bytes, ~std::uint64_t{0});
  EXPECT_TRUE(rows[1].parameters.empty());
  EXPECT_EQ(rows[1].origin, "my.csv:5");
}

TEST(TuningTable, columns_may_come_in_any_order) {
  std::vector<TuningRow> rows;
  const Status status = read_tuning(
      "algorithm, up_to_bytes,ranks_per_device,mpi,collective,memory,ranks_per_node,nodes\n"
      "bruck,1K,2-,mpich5-,alltoall,host,4,*\n"
      "collective,memory,nodes,ranks_per_node,up_to_bytes,algorithm,parameters\nalltoall,host,1,*,*,node_shared,packet=1K\n",
      "my.csv", rows);
  ASSERT_TRUE(status.ok()) << status.what;
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].algorithm, "bruck");
  EXPECT_EQ(rows[0].up_to_bytes, 1024u);
  EXPECT_TRUE(rows[0].nodes.contains(77) && rows[0].ranks_per_node.contains(4) && !rows[0].ranks_per_device.contains(1));
  EXPECT_EQ(rows[0].mpi.library, "mpich");
  EXPECT_EQ(rows[1].algorithm, "node_shared") << "a second line of names holds from there on";
}

TEST(TuningTable, a_wrong_header_is_an_error) {
  const std::pair<const char*, const char*> bad[] = {
      {"collective,memory,nodes,ranks_per_node,up_to_bytes,algorithm,colour", "my.csv:2: there is no column 'colour'"},
      {"collective,memory,nodes,ranks_per_node,algorithm,parameters", "my.csv:2: the column up_to_bytes is missing"},
      {"collective,memory,nodes,nodes,ranks_per_node,up_to_bytes,algorithm", "my.csv:2: the column nodes stands twice"},
  };
  for (const auto& [line, expected] : bad) {
    std::vector<TuningRow> rows;
    const Status status = read_tuning(std::string("# mine\n") + line + "\n", "my.csv", rows);
    EXPECT_EQ(status.code, Code::invalid) << line;
    EXPECT_STREQ(status.what, expected);
  }
}

TEST(TuningTable, appends) {
  std::vector<TuningRow> rows;
  ASSERT_TRUE(read_tuning("alltoall,host,1,*,*,linear,\n", "a", rows).ok());
  ASSERT_TRUE(read_tuning("alltoall,host,1,*,*,bruck,", "b", rows).ok());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].origin, "b:1");
}

TEST(TuningTable, says_where_and_what_is_wrong) {
  const std::pair<const char*, const char*> bad[] = {
      {"alltoall,host,1,*,4K", "algorithm is missing"},
      {"alltoall", "memory is missing"},
      {"alltoall,host,1,*,4K,linear,,3", "more cells than columns"},
      {"alltoall,host,1,*,4K,", "algorithm is missing"},
      {",host,1,*,4K,linear", "collective is empty"},
      {"alltoall,host,x,*,4K,linear,", "nodes is no number"},
      {"alltoall,host,0,*,4K,linear,", "nodes is no number"},
      {"alltoall,host,,*,4K,linear,", "nodes is no number"},
      {"alltoall,host,2-x,*,4K,linear,", "nodes is no number"},
      {"alltoall,host,1 2,*,4K,linear,", "nodes is no number"},
      {"alltoall,host,1,-3,4K,linear,", "ranks_per_node is no number"},
      {"alltoall,host,1,2-3-4,4K,linear,", "ranks_per_node is no number"},
      {"alltoall,host,1,2--4,4K,linear,", "ranks_per_node is no number"},
      {"alltoall,host,1,8-2,4K,linear,", "ranks_per_node is no number"},
      {"alltoall,host,1,*,lots,linear,", "up_to_bytes is no size"},
      {"alltoall,host,1,*,,linear,", "up_to_bytes is no size"},
      {"alltoall,host,1,*,-1,linear,", "up_to_bytes is no size"},
      {"alltoall,host,1,*,4K,node_shared,packet", "'packet' is no parameter, which is written name=number"},
      {"alltoall,host,1,*,4K,node_shared,packet=x", "'packet=x' is no parameter"},
      {"alltoall,host,1,*,4K,node_shared,packet=", "'packet=' is no parameter"},
      {"alltoall,host,1,*,4K,node_shared,=5", "'=5' is no parameter"},
      {"alltoall,host,1,*,4K,node_shared,pakcet=5", "node_shared has no parameter 'pakcet'; it has packet, chunk"},
      {"alltoall,host,1,*,4K,matrix_block,packet=5", "matrix_block has no parameter 'packet'; it has none"},
      {"alltoall,host,1,*,4K,native,packet=5", "native has no parameter 'packet'; it has none"},
  };
  for (const auto& [line, expected] : bad) {
    std::vector<TuningRow> rows;
    const std::string csv = std::string("alltoall,host,1,*,*,linear,\n") + line + "\nalltoall,host,1,*,*,bruck,\n";
    const Status status = read_tuning(csv, "my.csv", rows);
    EXPECT_EQ(status.code, Code::invalid) << line;
    EXPECT_NE(std::string(status.what).find("my.csv:2: " + std::string(expected)), std::string::npos)
        << line << " -> " << status.what;
    EXPECT_EQ(rows.size(), 1u) << "rows before the bad one are kept";
  }
}

TEST(TuningTable, the_built_in_one_is_good_and_names_known_rows) {
  std::vector<TuningRow> rows;
  const Status status = read_tuning(default_tuning(), "default.csv", rows);
  ASSERT_TRUE(status.ok()) << status.what;
  EXPECT_FALSE(rows.empty());
  for (const TuningRow& row : rows) {
    const auto collective = std::find_if(std::begin(kCollectives), std::end(kCollectives),
                                         [&](Collective one) { return row.collective == name_of(one); });
    ASSERT_NE(collective, std::end(kCollectives)) << row.origin << ": " << row.collective;
    // On several nodes, algorithms for host memory take device memory, too.
    const bool by_nodes = row.memory == name_of(Memory::device) && row.nodes.low > 1;
    const std::string where = row.memory == "stream" ? name_of(Memory::device) : by_nodes ? name_of(Memory::host) : row.memory;
    const auto memory = std::find_if(std::begin(kMemories), std::end(kMemories), [&](Memory one) { return where == name_of(one); });
    ASSERT_NE(memory, std::end(kMemories)) << row.origin << ": " << row.memory;
    EXPECT_TRUE(row.algorithm == "native" || find_algorithm(*collective, row.algorithm, *memory) != nullptr)
        << row.origin << ": " << row.algorithm;
  }
}

}  // namespace
}  // namespace crossrail::tests
