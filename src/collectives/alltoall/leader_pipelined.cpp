// What   As leader_coalesced, but the shared receive buffer holds two regions only: the region of
//        step k is copied out by all ranks of the node while that of step k+1 arrives, and takes
//        that of step k+2 when all have copied. The leader posts its sends ahead: the send buffer
//        holds all regions anyway.
// When   Small and medium blocks on several nodes.
// Cost   (N-1)(a + PPN^2 mb) between leaders + 2pm copied by every rank; N-1 partners and N-1 sends
//        a node; (N+2) PPN^2 m of the node's memory.
// Needs  A shared segment on every node. Parameters: ahead (regions sent before the first has come
//        back, 16).
// From   OHIO paper, section III-C (version 3), Algorithm 1 and Table III.

#include "collectives/alltoall/node_regions.h"
#include "collectives/leader_pipeline.h"

namespace crossrail::alltoall::leader_pipelined {

bool fits(const Topology& topology, const Shape& shape) {
  return regions_fit(topology, shape, [&](int node) {
    return ranks_on(topology, node) * (static_cast<std::size_t>(topology.size) + 2 * largest_other(topology, node));
  });
}

Status plan(Plan& plan) {
  const Topology& topology = *plan.topology;
  const Regions leaving = regions_for_nodes(plan, 0);
  NodeExchange exchange;
  exchange.out_at = leaving.at;
  for (int node = 0; node < topology.node_count(); ++node) {
    exchange.out_bytes.push_back(region_bytes(plan, node));
    exchange.in_bytes.push_back(region_bytes(plan, node));
  }
  const std::size_t half = plan.shape.block_bytes * static_cast<std::size_t>(topology.node_size()) * largest_other(topology, topology.node());
  exchange.half[0] = leaving.end;
  exchange.half[1] = leaving.end + half;
  exchange.ahead = ahead_of(plan);
  plan.keep(std::move(exchange));
  return plan.open_messages_and_memory(leaving.end + 2 * half);
}

Status run(Plan& plan, const Buffers& buffers) {
  NodeBoard& board = *plan.board;
  const Topology& topology = *plan.topology;
  const auto& exchange = plan.kept<NodeExchange>();
  std::byte* memory = nullptr;
  CROSSRAIL_TRY(plan.enter_node_memory(memory));
  const std::uint64_t epoch = board.next_epoch();
  stage_regions(plan, buffers, exchange.out_at, memory);
  board.mark(board.my_lines().filled, epoch);
  const auto copy_own = [&] {
    return copy_own_node(plan, buffers, memory + exchange.out_at[topology.node()], epoch);
  };
  const auto copy_step = [&](int step) {
    copy_from_region(plan, buffers, partners_of(topology, step).from, memory + exchange.half[step & 1]);
  };
  if (topology.one_node()) return copy_last_of_one_node(plan, copy_own);
  return PipelineCall<decltype(copy_own), decltype(copy_step)>{plan, exchange, memory, epoch, copy_own, copy_step}.run();
}

}  // namespace crossrail::alltoall::leader_pipelined
