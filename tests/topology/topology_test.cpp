#include "topology/topology.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/topology/ranks_of.h"

namespace crossrail::tests {
namespace {

using Numbers = std::vector<int>;

TEST(Topology, one_rank) {
  const Topology topology = topology_from_nodes({0}, 0);
  EXPECT_EQ(topology.size, 1);
  EXPECT_EQ(topology.node_count(), 1);
  EXPECT_TRUE(topology.one_node());
  EXPECT_EQ(topology.node_size(), 1);
  EXPECT_EQ(topology.text(), "1 rank on 1 node");
}

TEST(Topology, nodes_are_numbered_by_first_rank_whatever_the_labels) {
  const Topology topology = topology_from_nodes({42, 7, 42, -3, 7}, 4);
  EXPECT_EQ(topology.node_of, (Numbers{0, 1, 0, 2, 1}));
  EXPECT_EQ(ranks_of(topology.nodes), (std::vector<Numbers>{{0, 2}, {1, 4}, {3}}));
  EXPECT_EQ(topology.rank, 4);
  EXPECT_EQ(topology.node(), 1);
  EXPECT_EQ(topology.node_rank(), 1);
  EXPECT_EQ(ranks_of(topology.node_ranks()), (Numbers{1, 4}));
  EXPECT_EQ(topology.largest_node(), 2);
  EXPECT_FALSE(topology.one_node());
  EXPECT_EQ(topology.text(), "5 ranks on 3 nodes (2+2+1)");
}

TEST(Topology, is_the_same_on_all_ranks_but_for_the_rank) {
  for (int rank = 0; rank < 5; ++rank) {
    const Topology topology = topology_from_nodes({0, 1, 0, 1, 0}, rank);
    EXPECT_EQ(ranks_of(topology.nodes), (std::vector<Numbers>{{0, 2, 4}, {1, 3}}));
    EXPECT_EQ(topology.node_ranks()[topology.node_rank()], rank);
    EXPECT_EQ(topology.node_ranks().index(), topology.node_rank());
  }
}

TEST(Topology, text_of_many_nodes_is_cut) {
  EXPECT_EQ(topology_from_nodes({0, 1, 2, 3, 4, 5, 6, 7}, 0).text(), "8 ranks on 8 nodes (1+1+1+1+1+1+1+1)");
  EXPECT_EQ(topology_from_nodes({0, 1, 2, 3, 4, 5, 6, 7, 8}, 0).text(), "9 ranks on 9 nodes (1+1+1+1+1+1+1+1+..)");
}

Location at(std::uint64_t host, int first_cpu, int cpu_count) {
  Location location{};
  location.host = host;
  location.first_cpu = first_cpu;
  location.cpu_count = cpu_count;
  location.domain = first_cpu / 8;
  return location;
}

TEST(Locations, nodes_are_hosts) {
  const Topology topology = topology_from_locations({at(9, 0, 8), at(5, 0, 8), at(9, 8, 8)}, 2);
  EXPECT_EQ(topology.node_of, (Numbers{0, 1, 0}));
}

TEST(Locations, domains_are_those_of_this_node) {
  const std::vector<Location> locations{at(9, 0, 4), at(9, 8, 4), at(5, 0, 4), at(9, 4, 4), at(9, 16, 4)};
  EXPECT_EQ(ranks_of(topology_from_locations(locations, 3).domains), (std::vector<Numbers>{{0, 3}, {1}, {4}}));
  EXPECT_EQ(ranks_of(topology_from_locations(locations, 2).domains), (std::vector<Numbers>{{2}}));
}

TEST(Locations, of_which_one_is_unknown_make_no_domains) {
  std::vector<Location> locations{at(9, 0, 4), at(9, 8, 4), at(5, 0, 4)};
  locations[1].domain = -1;
  EXPECT_TRUE(topology_from_locations(locations, 0).domains.empty());
  EXPECT_EQ(topology_from_locations(locations, 2).domains.size(), 1u) << "it is another node's";
}

TEST(Locations, oversubscribed_where_ranks_outnumber_their_cores) {
  const auto oversubscribed = [](const std::vector<Location>& locations, int rank) {
    return topology_from_locations(locations, rank).oversubscribed;
  };
  EXPECT_FALSE(oversubscribed({at(1, 0, 1)}, 0));
  EXPECT_FALSE(oversubscribed({at(1, 0, 1), at(1, 1, 1)}, 0)) << "each has its core";
  EXPECT_TRUE(oversubscribed({at(1, 0, 1), at(1, 0, 1)}, 0)) << "both on one core";
  EXPECT_FALSE(oversubscribed({at(1, 0, 4), at(1, 0, 4), at(1, 0, 4), at(1, 0, 4)}, 0));
  EXPECT_TRUE(oversubscribed({at(1, 0, 2), at(1, 0, 2), at(1, 0, 2)}, 0));
  EXPECT_FALSE(oversubscribed({at(1, 0, 1), at(2, 0, 1), at(2, 0, 1)}, 0)) << "it is another node's trouble";
  EXPECT_TRUE(oversubscribed({at(1, 0, 1), at(2, 0, 1), at(2, 0, 1)}, 1));
}

TEST(Discover, tells_of_this_process) {
  const Location here = discover_location(-1);
  EXPECT_EQ(here.pid, getpid());
  EXPECT_GE(here.cpu_count, 1);
  EXPECT_GE(here.first_cpu, 0);
  EXPECT_NE(here.host, 0u);
  EXPECT_EQ(here.host, discover_location(0).host);
  EXPECT_EQ(here.probe_value, *reinterpret_cast<const std::uint64_t*>(here.probe_address));
}

}  // namespace
}  // namespace crossrail::tests
