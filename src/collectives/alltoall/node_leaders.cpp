// What   Every rank is a leader: the ranks of a node gather their blocks by the rank they go to, and
//        one of them sends those blocks, from all of the node, to that rank as one message. Receives
//        go straight to the user's buffer where the ranks of a node are neighbours; blocks of the
//        own node are copied while the messages travel.
// When   Medium blocks on several nodes: fewer messages than flat schemes, all ranks drive the network.
// Cost   (N-1)(a + PPN mb) a rank + 2pm copied; (N-1)PPN partners and sends a node.
// Needs  A shared segment on every node; scratch where the ranks of some node are no neighbours.
//        Parameters: throttle (messages in flight, 32).
// From   Khorassani et al., Adaptive and hierarchical large message all-to-all communication
//        algorithms for large-scale dense GPU systems, CCGrid 2021; OHIO paper, Table I.

#include "collectives/alltoall/node_regions.h"
#include "collectives/throttle.h"

namespace crossrail::alltoall::node_leaders {
namespace {

struct Layout {
  std::vector<std::size_t> aside;  // For every node, its blocks arrive at this place in scratch.
  int throttle;
};

std::size_t message_bytes(const Plan& plan, int node) { return plan.shape.block_bytes * ranks_on(*plan.topology, node); }

// Returns where this rank's blocks from `node` arrive.
std::byte* arriving(const Plan& plan, const Buffers& buffers, int node) {
  const Group& ranks = plan.topology->nodes[node];
  if (ranks.consecutive()) return buffers.recv + ranks[0] * plan.shape.block_bytes;
  return plan.scratch() + plan.kept<Layout>().aside[node];
}

// The ranks of a node take turns to lead for those of another node, by their place in it.
Status post_step(Plan& plan, const Buffers& buffers, const std::byte* memory, int step) {
  const Topology& topology = *plan.topology;
  const Partners partners = partners_of(topology, step);
  CROSSRAIL_TRY(plan.receive(in_turn(topology.nodes[partners.from], topology.node_rank()), arriving(plan, buffers, partners.from),
                             message_bytes(plan, partners.from), Links::Channel::coalesced));
  const std::size_t column = message_bytes(plan, topology.node());
  const Group receivers = topology.nodes[partners.to];
  for (int place = topology.node_rank(); place < receivers.size(); place += topology.node_size()) {
    const int receiver = receivers[place];
    CROSSRAIL_TRY(plan.send(receiver, memory + receiver * column, column, Links::Channel::coalesced));
  }
  return {};
}

void copy_aside(const Plan& plan, const Buffers& buffers, int node) {
  copy_column(plan, buffers, node, {plan.scratch() + plan.kept<Layout>().aside[node], plan.shape.block_bytes});
}

// Copies the node's own blocks, which lie in this rank's column.
void copy_own_column(const Plan& plan, const Buffers& buffers, const std::byte* memory) {
  const Topology& topology = *plan.topology;
  const std::byte* const column = memory + topology.rank * message_bytes(plan, topology.node());
  copy_column(plan, buffers, topology.node(), {column, plan.shape.block_bytes});
}

}  // namespace

Fit fit(const Topology& topology, const Shape&) {
  return fit_regions(topology, [&](int node) { return ranks_on(topology, node) * static_cast<std::size_t>(topology.size); });
}

Status plan(Plan& plan) {
  const Topology& topology = *plan.topology;
  Layout layout;
  std::size_t aside = 0;
  for (int node = 0; node < topology.node_count(); ++node) {
    layout.aside.push_back(aside);
    if (node != topology.node() && !topology.nodes[node].consecutive()) aside += message_bytes(plan, node);
  }
  layout.throttle = throttle_of(plan);
  plan.keep(std::move(layout));
  CROSSRAIL_TRY(plan.open_messages_and_memory(message_bytes(plan, topology.node()) * static_cast<std::size_t>(topology.size)));
  return plan.reserve_scratch(aside);
}

Status run(Plan& plan, const Buffers& buffers) {
  ControlBlock& control = *plan.control;
  const Topology& topology = *plan.topology;
  const Layout& layout = plan.kept<Layout>();
  const std::size_t block = plan.shape.block_bytes;
  std::byte* memory = nullptr;
  CROSSRAIL_TRY(plan.enter_node_memory(memory));
  const std::uint64_t epoch = control.next_epoch();
  std::byte* const mine = memory + static_cast<std::size_t>(topology.node_rank()) * block;
  for (int rank = 0; rank < topology.size; ++rank) {
    plan.stage(mine + rank * message_bytes(plan, topology.node()), buffers.send + rank * block, block);
  }
  control.post(filled, epoch);
  CROSSRAIL_TRY(control.wait_all(filled, epoch));
  for (int step = 1; step < topology.node_count(); ++step) {
    CROSSRAIL_TRY(post_step(plan, buffers, memory, step));
    if (step == 1) copy_own_column(plan, buffers, memory);
    if (step % layout.throttle == 0) CROSSRAIL_TRY(plan.links->wait_posted());
  }
  if (topology.one_node()) copy_own_column(plan, buffers, memory);
  CROSSRAIL_TRY(plan.links->wait_posted());
  for (int node = 0; node < topology.node_count(); ++node) {
    if (node != topology.node() && !topology.nodes[node].consecutive()) copy_aside(plan, buffers, node);
  }
  // This rank has sent and read all it had to. No rank may write there before all have.
  control.post(copied, epoch);
  return control.wait_all(copied, epoch);
}

}  // namespace crossrail::alltoall::node_leaders
