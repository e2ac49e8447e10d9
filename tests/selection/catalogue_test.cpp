// These tests check the catalogue, and for which communicators its rows say they fit.

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "collectives/algorithm.h"

namespace crossrail::tests {
namespace {

TEST(Catalogue, rows_are_complete_and_found_by_name) {
  for (const Collective collective : kCollectives) {
    std::set<std::string> names;
    for (const Algorithm& row : catalogue(collective)) {
      EXPECT_TRUE(names.insert(row.name).second) << row.name;
      EXPECT_GT(std::string(row.summary).size(), 10u);
      EXPECT_TRUE(row.fit != nullptr && row.plan != nullptr && row.run != nullptr);
      EXPECT_EQ(find_algorithm(collective, row.name), &row);
    }
    EXPECT_FALSE(names.empty()) << name_of(collective);
    EXPECT_EQ(names.count("native"), 0u) << "native is the word for the MPI library";
  }
  EXPECT_EQ(find_algorithm(Collective::alltoall, "native"), nullptr);
  EXPECT_EQ(find_algorithm(Collective::alltoall, ""), nullptr);
  EXPECT_EQ(find_algorithm(Collective::alltoall, "bruc"), nullptr);
}

Topology topology(const std::vector<int>& node_of, bool shared, bool single_copy) {
  Topology made = topology_from_nodes(node_of, 0);
  made.shared_segment = shared;
  made.single_copy = single_copy;
  made.scratch_bytes = 1 << 20;
  return made;
}

bool fits(const char* name, const Topology& where, std::uint64_t bytes, bool in_place = false) {
  return find_algorithm(Collective::alltoall, name)->fits(where, {Collective::alltoall, Memory::host, in_place, bytes});
}

TEST(Fits, algorithms_of_the_node_need_one_node_and_its_segment) {
  const std::vector<int> one{0, 0, 0}, two{0, 0, 1};
  EXPECT_TRUE(fits("node_shared", topology(one, true, false), 64));
  EXPECT_FALSE(fits("node_shared", topology(one, false, false), 64));
  EXPECT_FALSE(fits("node_shared", topology(two, true, true), 64));
  EXPECT_TRUE(fits("node_single_copy", topology(one, true, true), 64));
  EXPECT_FALSE(fits("node_single_copy", topology(one, true, false), 64));
  EXPECT_FALSE(fits("node_single_copy", topology(two, true, true), 64));
}

// An option builds the baselines of papers. What the built-in table names, or a search may choose for it, is always built.
TEST(Catalogue, has_the_rows_of_papers_where_they_are_built) {
  constexpr bool built = CROSSRAIL_PAPER_ROWS != 0;
  for (const char* name : {"linear", "scatter_destination", "bruck", "leader_staged", "leader_coalesced", "hierarchical_datatype"}) {
    EXPECT_EQ(find_algorithm(Collective::alltoall, name) != nullptr, built) << name;
  }
  for (const char* name : {"ipc_kernel_pull", "ipc_copy_pull", "ipc_resident_push"}) {
    EXPECT_EQ(find_algorithm(Collective::alltoall, name, Memory::device) != nullptr, built) << name;
  }
  EXPECT_EQ(find_algorithm(Collective::alltoallv, "scatter_destination") != nullptr, built);
  EXPECT_EQ(find_algorithm(Collective::allgather, "bruck") != nullptr, built);
  for (const char* name : {"pairwise", "node_shared", "node_single_copy", "leader_pipelined", "node_leaders", "matrix_block"}) {
    EXPECT_NE(find_algorithm(Collective::alltoall, name), nullptr) << name;
  }
}

// Returns those of these names that are built.
std::vector<const char*> built(const std::vector<const char*>& names) {
  std::vector<const char*> found;
  for (const char* name : names) {
    if (find_algorithm(Collective::alltoall, name) != nullptr) found.push_back(name);
  }
  return found;
}

TEST(Fits, leaders_need_the_nodes_memory_and_its_limit) {
  const Topology where = topology({0, 0, 0, 1, 1, 2}, true, false);
  for (const char* name : built({"leader_staged", "leader_coalesced", "leader_pipelined", "hierarchical_datatype", "matrix_block", "node_leaders"})) {
    EXPECT_TRUE(fits(name, where, 64)) << name;
    EXPECT_TRUE(fits(name, where, 64, true)) << name;
    EXPECT_FALSE(fits(name, topology({0, 0, 1}, false, false), 64)) << name;
    // Some go in slices. The others need room for all.
    const std::string one = name;
    const bool sliced = one == "leader_pipelined" || one == "matrix_block" || one == "node_leaders";
    EXPECT_EQ(fits(name, where, 1 << 19), sliced) << name;
    EXPECT_EQ(fits(name, where, ~std::uint64_t{0}), sliced) << name << ": no overflow";
  }
  // The largest node decides for all: 3 ranks x 6 blocks, out and in.
  for (const char* name : built({"leader_coalesced"})) {
    EXPECT_TRUE(fits(name, where, (1 << 20) / 36));
    EXPECT_FALSE(fits(name, where, (1 << 20) / 36 + 1));
  }
}

TEST(Fits, slices_are_not_shorter_than_a_cache_line) {
  // The largest node has 3 ranks x 6 blocks out, and as many in, two regions of 3 x 2, or none.
  for (const auto& [name, blocks] : {std::pair{"matrix_block", 36}, {"leader_pipelined", 30}, {"node_leaders", 18}}) {
    Topology where = topology({0, 0, 0, 1, 1, 2}, true, false);
    where.scratch_bytes = static_cast<std::uint64_t>(64 * blocks);
    EXPECT_TRUE(fits(name, where, ~std::uint64_t{0})) << name;
    --where.scratch_bytes;
    EXPECT_TRUE(fits(name, where, 63)) << name;
    EXPECT_FALSE(fits(name, where, 64)) << name;
  }
}

TEST(Fits, device_memory_has_algorithms_of_its_own) {
  EXPECT_EQ(find_algorithm(Collective::alltoall, "hybrid"), nullptr);
  EXPECT_EQ(find_algorithm(Collective::alltoall, "pairwise", Memory::device), nullptr);
  EXPECT_EQ(find_algorithm(Collective::alltoallv, "node_shared", Memory::device), nullptr);
  const Algorithm* const vectors = find_algorithm(Collective::alltoallv, "ipc_push", Memory::device);
  ASSERT_NE(vectors, nullptr);
  const Shape any{Collective::alltoallv, Memory::device, false, 0};
  EXPECT_TRUE(vectors->fits(topology({0, 0, 0}, true, false), any));
  EXPECT_FALSE(vectors->fits(topology({0, 0, 0}, false, false), any));
  EXPECT_FALSE(vectors->fits(topology({0, 0, 1}, true, true), any));
  for (const Algorithm& row : catalogue(Collective::alltoall, Memory::device)) {
    const Shape shape{Collective::alltoall, Memory::device, false, 64};
    EXPECT_EQ(row.memory, Memory::device);
    EXPECT_EQ(row.fits(topology({0, 0, 0}, true, false), shape), std::string(row.name) != "chunks") << row.name;
    EXPECT_FALSE(row.fits(topology({0, 0, 0}, false, false), shape)) << row.name;
    EXPECT_FALSE(row.fits(topology({0, 0, 1}, true, true), shape)) << row.name;
    const bool in_a_stream = row.fits(topology({0, 0, 0}, true, false), {Collective::alltoall, Memory::device, false, 64, Order::stream});
    EXPECT_EQ(in_a_stream, std::string(row.name) != "ipc_resident_push") << row.name;
  }
  const Algorithm& packet = *find_algorithm(Collective::alltoall, "packet", Memory::device);
  EXPECT_FALSE(packet.fits(topology({0, 0}, true, true), {Collective::alltoall, Memory::device, false, 16385}));
}

TEST(Fits, what_a_row_lacks_is_the_same_for_every_size) {
  const Topology topologies[] = {topology({0}, false, false),          topology({0, 0, 0}, true, true),  topology({0, 0, 0}, true, false),
                                 topology({0, 0, 0}, false, false),    topology({0, 0, 1}, true, false), topology({0, 1, 2, 3}, false, false),
                                 topology(std::vector<int>(200), true, true)};
  for (const Collective collective : kCollectives) {
    for (const Memory memory : kMemories) {
      for (const Algorithm& row : catalogue(collective, memory)) {
        for (const Topology& where : topologies) {
          for (const bool in_place : {false, true}) {
            Shape shape{collective, memory, in_place, 0};
            if (row_of(collective).reduces) shape.reduction = {Operation::sum, Element::float64};
            const Fit fit = row.fit(where, shape);
            for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{4096}, std::uint64_t{1} << 20, std::uint64_t{1} << 40}) {
              shape.block_bytes = bytes;
              EXPECT_STREQ(row.fit(where, shape).missing(), fit.missing()) << row.name;
              EXPECT_EQ(row.fit(where, shape).most_bytes(), fit.most_bytes()) << row.name;
            }
          }
        }
      }
    }
  }
}

TEST(Fits, the_first_condition_that_is_not_met_is_the_reason) {
  EXPECT_EQ(Fit().missing(), nullptr);
  EXPECT_STREQ(Fit().needs(true, "a").needs(false, "b").needs(false, "c").missing(), "b");
  EXPECT_FALSE(Fit().needs(false, "b").takes(0));
  EXPECT_TRUE(Fit().at_most(5).at_most(7).takes(5));
  EXPECT_FALSE(Fit().at_most(5).at_most(7).takes(6));
}

TEST(Fits, messages_fit_everywhere) {
  for (const char* name : built({"linear", "pairwise", "bruck"})) {
    EXPECT_TRUE(fits(name, topology({0}, false, false), 64));
    EXPECT_TRUE(fits(name, topology({0, 1, 2}, false, false), 64));
    EXPECT_TRUE(fits(name, topology({0, 0, 1}, true, true), 64, true));
  }
}

TEST(Fits, scratch_is_a_limit) {
  const Topology where = topology({0, 1, 2, 3}, false, false);
  for (const char* name : built({"linear", "pairwise"})) {
    EXPECT_TRUE(fits(name, where, 1 << 30)) << "needs none";
    EXPECT_TRUE(fits(name, where, 1 << 18, true));
    EXPECT_FALSE(fits(name, where, (1 << 18) + 1, true));
  }
  for (const char* name : built({"bruck"})) {
    EXPECT_FALSE(fits(name, where, 1 << 18));
    EXPECT_FALSE(fits(name, where, ~std::uint64_t{0})) << "no overflow";
  }
  EXPECT_FALSE(fits("pairwise", where, ~std::uint64_t{0}, true)) << "no overflow";
}

}  // namespace
}  // namespace crossrail::tests
