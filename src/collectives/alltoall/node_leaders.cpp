// What   Every rank is a leader: the ranks of a node gather their blocks by the rank they go to, and
//        one of them sends those blocks, from all of the node, to that rank as one message. Receives
//        go straight to the user's buffer where the ranks of a node are neighbours; blocks of the
//        own node are copied while the messages travel. Blocks that are too long for the node's
//        memory go slice by slice, each as long as there is room for, and are received in scratch.
// When   Medium blocks on several nodes: fewer messages than flat schemes, all ranks drive the network.
// Cost   (N-1)(a + PPN mb) a rank + 2pm copied; (N-1)PPN partners and sends a node, with slices for
//        each of them; N PPN^2 m of the node's memory.
// Needs  A shared segment on every node, room there for 64 bytes of every block; scratch where the
//        ranks of some node are no neighbours. Parameters: throttle (messages in flight, 32).
// From   Khorassani et al., Adaptive and hierarchical large message all-to-all communication
//        algorithms for large-scale dense GPU systems, CCGrid 2021; OHIO paper, Table I.

#include "collectives/alltoall/node_regions.h"
#include "collectives/throttle.h"

namespace crossrail::alltoall::node_leaders {
namespace {

struct Layout {
  Slicing slicing;
  std::vector<std::size_t> aside;  // For every node, its blocks arrive at this place in scratch.
  int throttle;
};

// If the blocks from `node` do not lie in a row in the user's buffer, they arrive in scratch.
bool go_aside(const Topology& topology, int node, bool whole) { return node != topology.node() && (!whole || !topology.nodes[node].consecutive()); }

std::size_t message_bytes(const Plan& plan, const Slice& slice, int node) { return slice.bytes * ranks_on(*plan.topology, node); }

// Returns where this rank's blocks from `node` arrive.
std::byte* arriving(const Plan& plan, const Slice& slice, int node) {
  if (go_aside(*plan.topology, node, slice.whole())) return plan.scratch() + plan.kept<Layout>().aside[node];
  return slice.recv + plan.topology->nodes[node][0] * slice.pitch;
}

// The ranks of a node take turns to lead for those of another node, by their place in it.
Status post_step(Plan& plan, const Slice& slice, const std::byte* memory, int step) {
  const Topology& topology = *plan.topology;
  const Partners partners = partners_of(topology, step);
  CROSSRAIL_TRY(plan.receive(in_turn(topology.nodes[partners.from], topology.node_rank()), arriving(plan, slice, partners.from),
                             message_bytes(plan, slice, partners.from), Links::Channel::coalesced));
  const std::size_t column = message_bytes(plan, slice, topology.node());
  const Group receivers = topology.nodes[partners.to];
  for (int place = topology.node_rank(); place < receivers.size(); place += topology.node_size()) {
    const int receiver = receivers[place];
    CROSSRAIL_TRY(plan.send(receiver, memory + receiver * column, column, Links::Channel::coalesced));
  }
  return {};
}

void copy_aside(const Plan& plan, const Slice& slice, int node) {
  copy_column(plan, slice, node, {plan.scratch() + plan.kept<Layout>().aside[node], slice.bytes});
}

// Copies the node's own blocks, which lie in this rank's column.
void copy_own_column(const Plan& plan, const Slice& slice, const std::byte* memory) {
  const Topology& topology = *plan.topology;
  const std::byte* const column = memory + topology.rank * message_bytes(plan, slice, topology.node());
  copy_column(plan, slice, topology.node(), {column, slice.bytes});
}

Status run_slice(Plan& plan, const Slice& slice, std::byte* memory) {
  ControlBlock& control = *plan.control;
  const Topology& topology = *plan.topology;
  const Layout& layout = plan.kept<Layout>();
  const std::uint64_t epoch = control.next_epoch();
  std::byte* const mine = memory + static_cast<std::size_t>(topology.node_rank()) * slice.bytes;
  for (int rank = 0; rank < topology.size; ++rank) {
    plan.stage(mine + rank * message_bytes(plan, slice, topology.node()), slice.send + rank * slice.pitch, slice.bytes);
  }
  control.post(filled, epoch);
  CROSSRAIL_TRY(control.wait_all(filled, epoch));
  for (int step = 1; step < topology.node_count(); ++step) {
    CROSSRAIL_TRY(post_step(plan, slice, memory, step));
    if (step == 1) copy_own_column(plan, slice, memory);
    if (step % layout.throttle == 0) CROSSRAIL_TRY(plan.links->wait_posted());
  }
  if (topology.one_node()) copy_own_column(plan, slice, memory);
  CROSSRAIL_TRY(plan.links->wait_posted());
  for (int node = 0; node < topology.node_count(); ++node) {
    if (go_aside(topology, node, slice.whole())) copy_aside(plan, slice, node);
  }
  // This rank has sent and read all it had to. No rank may write there before all have.
  control.post(copied, epoch);
  return control.wait_all(copied, epoch);
}

}  // namespace

Fit fit(const Topology& topology, const Shape&) { return fit_slices(topology, longest_of_copies(topology, 1)); }

Status plan(Plan& plan) {
  const Topology& topology = *plan.topology;
  Layout layout;
  layout.slicing = slices_of(plan, longest_of_copies(topology, 1));
  const bool whole = layout.slicing.slice == plan.shape.block_bytes;
  std::size_t blocks_aside = 0;
  for (int node = 0; node < topology.node_count(); ++node) {
    layout.aside.push_back(blocks_aside * layout.slicing.slice);
    if (go_aside(topology, node, whole)) blocks_aside += ranks_on(topology, node);
  }
  layout.throttle = throttle_of(plan);
  const std::size_t room = plan.keep(std::move(layout)).slicing.room;
  CROSSRAIL_TRY(plan.open_messages_and_memory(blocks_of(topology, topology.node()) * room));
  return plan.reserve_scratch(blocks_aside * room);
}

Status run(Plan& plan, const Buffers& buffers) {
  std::byte* memory = nullptr;
  CROSSRAIL_TRY(plan.enter_node_memory(memory));
  return in_slices(plan, buffers, plan.kept<Layout>().slicing, [&](const Slice& slice) { return run_slice(plan, slice, memory); });
}

}  // namespace crossrail::alltoall::node_leaders
