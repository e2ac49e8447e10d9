// In every node, one rank handles the blocks of all its ranks: the root on its own node, and the first rank elsewhere. The blocks lie in a row in the
// order of the node's ranks, and a node receives or sends one message.
#pragma once

#include "collectives/nodes.h"
#include "collectives/rooted.h"
#include "collectives/rooted_node.h"

namespace crossrail {

class RootedLeaders {
 public:
  explicit RootedLeaders(const Plan& plan) : plan_(plan), topology_(*plan.topology), root_node_(topology_.node_of[plan.shape.root]) {
    const Group& ranks = topology_.node_ranks();
    for (int index = 0; on_root_node() && index < ranks.size(); ++index) leader_ = ranks[index] == plan.shape.root ? index : leader_;
  }
  bool on_root_node() const { return topology_.node() == root_node_; }
  int leader() const { return leader_; }  // It is a node rank.
  bool leads() const { return topology_.node_rank() == leader_; }

  // The root calls it: calls `visit(leader's rank, the node's ranks, place of the node's row in a row of all nodes)` for all nodes except its own.
  template <class Visit>
  Status for_nodes(Visit visit) const {
    std::size_t place = 0;
    for (int node = 0; node < topology_.node_count(); ++node) {
      const Group& ranks = topology_.nodes[static_cast<std::size_t>(node)];
      if (node != root_node_) CROSSRAIL_TRY(visit(ranks[0], ranks, place));
      place += ranks_on(topology_, node) * plan_.shape.block_bytes;
    }
    return {};
  }

  static Fit fit(const Topology& topology) {
    return Fit()
        .needs(topology.node_count() > 1, "several nodes")
        .needs(topology.shared_segment, kSharedMemory)
        .at_most(topology.scratch_bytes / static_cast<std::size_t>(topology.size));
  }
  static Status plan(Plan& plan) {
    const Status opened = plan.links->open_messages();
    const Status reserved = plan.reserve_scratch(plan.shape.block_bytes * static_cast<std::size_t>(plan.group.size()));
    const Status node = plan.keep(RootedNode()).plan(plan);
    plan.sizes = {};  // The scratch is for this size only.
    return !opened.ok() ? opened : reserved.ok() ? node : reserved;
  }

 private:
  const Plan& plan_;
  const Topology& topology_;
  int root_node_;
  int leader_ = 0;
};

}  // namespace crossrail
