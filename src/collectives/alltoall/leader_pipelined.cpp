// What   As leader_coalesced, but the shared receive buffer holds two regions a leader: the region of
//        one step is copied out by all ranks of the node while that of the next arrives. Sends are
//        posted ahead; several leaders may share the steps.
// When   Small and medium blocks on several nodes. One leader where the network does the work, more
//        where processors do (TCP).
// Cost   (N-1)(a + PPN^2 mb) between leaders, divided by their number + 2pm copied by every rank; N-1
//        partners and N-1 sends a node; (N + 2 leaders) PPN^2 m of the node's memory.
// Needs  A shared segment on every node. Parameters: leaders (1, as in the paper), split (bytes of a
//        region for each leader that shares a step, 16 KiB), ahead (rounds sent before the first has
//        come back, 16).
// From   OHIO paper, section III-C (version 3), Algorithm 1 and Table III.

#include "collectives/alltoall/node_regions.h"
#include "collectives/leader_pipeline.h"

namespace crossrail::alltoall::leader_pipelined {

Fit fit(const Topology& topology, const Shape&) {
  return fit_regions(topology, [&](int node) {
    return ranks_on(topology, node) * (static_cast<std::size_t>(topology.size) + 2 * largest_other(topology, node));
  });
}

Status plan(Plan& plan) {
  const Topology& topology = *plan.topology;
  const Regions leaving = plan_regions(plan, 0);
  NodeExchange exchange;
  exchange.out_at = leaving.at;
  for (int node = 0; node < topology.node_count(); ++node) {
    exchange.out_bytes.push_back(region_bytes(plan, node));
    exchange.in_bytes.push_back(region_bytes(plan, node));
  }
  exchange.ahead = ahead_of(plan);
  exchange.receive_at = leaving.end;
  exchange.region_bytes = plan.shape.block_bytes * static_cast<std::size_t>(topology.node_size()) * largest_other(topology, topology.node());
  plan_leaders(plan, exchange);
  return plan.open_messages_and_memory(plan.keep(std::move(exchange)).end(topology));
}

Status run(Plan& plan, const Buffers& buffers) {
  ControlBlock& control = *plan.control;
  const Topology& topology = *plan.topology;
  const auto& exchange = plan.kept<NodeExchange>();
  std::byte* memory = nullptr;
  CROSSRAIL_TRY(plan.enter_node_memory(memory));
  const std::uint64_t epoch = control.next_epoch();
  stage_regions(plan, buffers, exchange.out_at, memory);
  control.post(filled, epoch);
  const int own = topology.node();
  const auto copy_own = [&] {
    return copy_own_node(plan, epoch, [&] { copy_from_region(plan, buffers, own, memory + exchange.out_at[own]); });
  };
  if (topology.one_node()) return copy_last_of_one_node(plan, copy_own);
  const auto copy = [&](int node, const std::byte* region) -> Status {
    copy_from_region(plan, buffers, node, region);
    return {};
  };
  const Status exchanged = PipelineCall{plan, exchange, memory, epoch, copy_own, copy}.run();
  if (!exchanged.ok()) return exchanged;
  return plan.links->wait_posted();  // Nothing is left to wait for except the record of the messages.
}

}  // namespace crossrail::alltoall::leader_pipelined
