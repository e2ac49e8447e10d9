#include "topology/group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tests/topology/ranks_of.h"
#include "topology/topology.h"

namespace crossrail::tests {
namespace {

using Numbers = std::vector<int>;

TEST(Group, of_nobody) {
  const Group none;
  EXPECT_EQ(none.size(), 0);
  EXPECT_EQ(none.index(), -1);
  EXPECT_EQ(ranks_of(none), Numbers{});
  EXPECT_EQ(Group(Numbers{}, 0).size(), 0);
}

TEST(Group, the_world_is_all_ranks) {
  const Group world = Group::world(4, 2);
  EXPECT_EQ(ranks_of(world), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(world.index(), 2);
  EXPECT_TRUE(world.consecutive());
}

// Whatever the distances, the members are those, in that order, and a list is kept only where it must be.
TEST(Group, has_the_members_it_was_made_of) {
  struct Case {
    Numbers ranks;
    bool listed, consecutive;
  };
  for (const Case& one : {Case{{5}, false, true}, Case{{3, 4, 5}, false, true}, Case{{1, 4, 7, 10}, false, false}, Case{{2, 0}, false, false},
                          Case{{9, 6, 3}, false, false}, Case{{0, 1, 3}, true, false}, Case{{4, 5, 6, 2}, true, false}}) {
    for (int rank = 0; rank < 12; ++rank) {
      const Group group(one.ranks, rank);
      EXPECT_EQ(ranks_of(group), one.ranks);
      for (int index = 0; index < group.size(); ++index) EXPECT_EQ(group[index], one.ranks[static_cast<std::size_t>(index)]);
      EXPECT_EQ(group.listed(), one.listed);
      EXPECT_EQ(group.consecutive(), one.consecutive);
      const auto mine = std::find(one.ranks.begin(), one.ranks.end(), rank);
      EXPECT_EQ(group.index(), mine == one.ranks.end() ? -1 : mine - one.ranks.begin());
    }
  }
}

TEST(Group, splits_by_labels_in_the_order_of_first_members) {
  GroupLists lists;
  const Group odd = lists.make({1, 3, 5, 7, 9}, 5);
  const std::vector<Group> parts = lists.split(odd, std::vector<char>{'b', 'a', 'b', 'c', 'b'}, 5);
  EXPECT_EQ(ranks_of(parts), (std::vector<Numbers>{{1, 5, 9}, {3}, {7}}));
  EXPECT_EQ(parts[0].index(), 1);
  EXPECT_EQ(parts[1].index(), -1);
}

TEST(Topology, has_leaders_and_a_lane) {
  const Numbers node_of{7, 7, 7, 1, 1, 7, 2, 1};
  const std::vector<Numbers> lanes{{0, 3, 6}, {1, 4}, {2, 7}, {5}};
  for (int rank = 0; rank < 8; ++rank) {
    const Topology topology = topology_from_nodes(node_of, rank);
    EXPECT_EQ(ranks_of(topology.nodes), (std::vector<Numbers>{{0, 1, 2, 5}, {3, 4, 7}, {6}}));
    EXPECT_EQ(ranks_of(topology.leaders), lanes[0]);
    EXPECT_EQ(topology.leaders.index(), topology.node_rank() == 0 ? topology.node() : -1);
    EXPECT_EQ(ranks_of(topology.lane), lanes[static_cast<std::size_t>(topology.node_rank())]);
    EXPECT_EQ(topology.lane[topology.lane.index()], rank);
    EXPECT_EQ(topology.world().index(), rank);
  }
}

// Ranks placed by block or in turn need no list at any size. Copies outlive what they were made from.
TEST(Topology, keeps_lists_only_for_irregular_places) {
  for (const bool in_turn : {false, true}) {
    Numbers node_of;
    for (int rank = 0; rank < 56 * 16; ++rank) node_of.push_back(in_turn ? rank % 16 : rank / 56);
    const Topology topology = topology_from_nodes(node_of, 100);
    for (const Group& node : topology.nodes) EXPECT_FALSE(node.listed());
    EXPECT_FALSE(topology.leaders.listed() || topology.lane.listed());
  }
  auto made = std::make_unique<Topology>(topology_from_nodes({0, 1, 1, 0, 1, 0, 0}, 3));
  const Topology copy = *made;
  made.reset();
  EXPECT_TRUE(copy.nodes[0].listed());
  EXPECT_EQ(ranks_of(copy.nodes), (std::vector<Numbers>{{0, 3, 5, 6}, {1, 2, 4}}));
}

}  // namespace
}  // namespace crossrail::tests
