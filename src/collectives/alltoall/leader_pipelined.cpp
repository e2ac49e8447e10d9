// What   As leader_coalesced, but the shared receive buffer holds two regions a leader: the region of
//        one step is copied out by all ranks of the node while that of the next arrives. Sends are
//        posted ahead; several leaders may share the steps. Blocks that are too long for the node's
//        memory go slice by slice, each as long as there is room for.
// When   Small and medium blocks on several nodes. One leader where the network does the work, more
//        where processors do (TCP).
// Cost   (N-1)(a + PPN^2 mb) between leaders, divided by their number + 2pm copied by every rank; N-1
//        partners and N-1 sends a node; (N + 2 leaders) PPN^2 m of the node's memory. With slices,
//        N-1 sends for each of them.
// Needs  A shared segment on every node, room there for 64 bytes of every block. Parameters: leaders
//        (1, as in the paper), split (bytes of a region for each leader that shares a step, 16 KiB),
//        ahead (rounds sent before the first has come back, 16).
// From   OHIO paper, section III-C (version 3), Algorithm 1 and Table III; the slices are ours.

#include "collectives/alltoall/node_regions.h"
#include "collectives/leader_pipeline.h"

namespace crossrail::alltoall::leader_pipelined {
namespace {

struct State {
  Slicing slicing;
  NodeExchange exchange;
  NodeExchange last;  // It is that of a last slice that is shorter. Its regions begin where those of `exchange` do.
};

// Returns how many blocks the memory of a node holds, with so many regions for what arrives.
std::size_t blocks_in_memory(const Topology& topology, int node, std::size_t arriving) {
  return blocks_of(topology, node) + arriving * ranks_on(topology, node) * largest_other(topology, node);
}

// Returns the longest block of which the memory of every node holds all. The largest node needs most memory.
std::size_t longest_block(const Topology& topology, std::size_t arriving) {
  int largest = 0;
  for (int node = 1; node < topology.node_count(); ++node) {
    if (ranks_on(topology, node) > ranks_on(topology, largest)) largest = node;
  }
  return topology.scratch_bytes / blocks_in_memory(topology, largest, arriving);
}

void set_region_bytes(const Topology& topology, std::size_t slice, NodeExchange& exchange) {
  for (int node = 0; node < topology.node_count(); ++node) {
    exchange.out_bytes[node] = exchange.in_bytes[node] = region_bytes(topology, node, slice);
  }
}

Status run_slice(Plan& plan, const Slice& slice, std::byte* memory) {
  ControlBlock& control = *plan.control;
  const Topology& topology = *plan.topology;
  const auto& state = plan.kept<State>();
  const NodeExchange& exchange = slice.bytes == state.slicing.slice ? state.exchange : state.last;
  const std::uint64_t epoch = control.next_epoch();
  stage_regions(plan, slice, exchange.out_at, memory);
  control.post(filled, epoch);
  const int own = topology.node();
  const auto copy_own = [&] {
    return copy_own_node(plan, epoch, [&] { copy_from_region(plan, slice, own, memory + exchange.out_at[own]); });
  };
  if (topology.one_node()) return copy_last_of_one_node(plan, copy_own);
  const auto copy = [&](int node, const std::byte* region) -> Status {
    copy_from_region(plan, slice, node, region);
    return {};
  };
  const Status exchanged = PipelineCall{plan, exchange, memory, epoch, copy_own, copy}.run();
  if (!exchanged.ok()) return exchanged;
  return plan.links->wait_posted();  // Nothing is left to wait for except the record of the messages.
}

}  // namespace

// It is the limit of one leader. If several find no room, the plan fails.
Fit fit(const Topology& topology, const Shape&) { return fit_slices(topology, longest_block(topology, NodeExchange().arriving(topology))); }

Status plan(Plan& plan) {
  const Topology& topology = *plan.topology;
  State& state = plan.keep(State());
  NodeExchange& exchange = state.exchange;
  plan_leaders(plan, exchange);
  exchange.ahead = ahead_of(plan);
  const std::size_t arriving = exchange.arriving(topology);
  state.slicing = slices_of(plan, longest_block(topology, arriving));
  const std::size_t slice = state.slicing.slice;
  Regions leaving = plan_regions(plan, slice, 0);
  exchange.out_at = std::move(leaving.at);
  exchange.receive_at = leaving.end;
  exchange.region_bytes = slice * static_cast<std::size_t>(topology.node_size()) * largest_other(topology, topology.node());
  exchange.out_bytes.resize(topology.nodes.size());
  exchange.in_bytes.resize(topology.nodes.size());
  set_region_bytes(topology, slice, exchange);
  if (slice < plan.shape.block_bytes && plan.shape.block_bytes % slice > 0) {
    state.last = exchange;
    set_region_bytes(topology, plan.shape.block_bytes % slice, state.last);
  }
  return plan.open_messages_and_memory(blocks_in_memory(topology, topology.node(), arriving) * state.slicing.room);
}

Status run(Plan& plan, const Buffers& buffers) {
  std::byte* memory = nullptr;
  CROSSRAIL_TRY(plan.enter_node_memory(memory));
  return in_slices(plan, buffers, plan.kept<State>().slicing, [&](const Slice& slice) { return run_slice(plan, slice, memory); });
}

}  // namespace crossrail::alltoall::leader_pipelined
