// What   In every node the elements are combined, each of the first ranks having a share; the ranks that have the same share in
//        their nodes (a lane) combine the nodes' results by messages; then each node's ranks copy all shares. Part by part.
// When   Several nodes: what crosses the network is as little as one rank of a node has, and all ranks of a node send it.
// Cost   Lanes of n nodes, l of them: as recursive doubling, Rabenseifner's or a ring for m/l bytes on n ranks; in the node, as node_shared.
//        Few elements take one lane: that of the leaders.
// Needs  Shared node memory for the elements of a node's ranks, twice. Parameters: part (most bytes of a rank's elements at a time; 512 KiB for each
//        of its processes where that is more), split (fewest bytes that are worth a lane of their own), halving (fewest bytes of a lane that are
//        halved), circling (fewest that go round in a ring), processes (of each rank, including its helper processes, that share long messages),
//        uncached (least bytes of a rank's elements whose results are written past the caches).
// From   Multi-process-per-GPU allreduce paper, algorithm 2; Traeff and Hunold 2020.

#include <algorithm>

#include "collectives/allreduce/lanes.h"
#include "collectives/allreduce/messages.h"
#include "collectives/parameters.h"

namespace crossrail::allreduce::multi_lane {
namespace {

// It is the same on every rank, however many ranks its node has.
std::size_t part_at_most(const Plan& plan) {
  const Topology& topology = *plan.topology;
  const std::uint64_t room = topology.scratch_bytes / (2 * static_cast<std::uint64_t>(topology.largest_node()));
  const std::size_t most = std::min({room, plan.shared_bytes(plan.parameter(parameters::part)), plan.shape.block_bytes});
  const std::size_t element_bytes = bytes_of(plan.shape.reduction.element);
  return most / element_bytes * element_bytes;
}

Status run_part(Plan& plan, const Elements& elements, std::byte* memory) {
  ControlBlock& control = *plan.control;
  const Lanes& lanes = plan.kept<Lanes>();
  const std::uint64_t epoch = control.next_epoch();
  CROSSRAIL_TRY(control.wait_until_reusable(epoch));
  const std::size_t half = lanes.stride * static_cast<std::size_t>(control.node_size());
  const Regions regions{memory + (epoch & 1) * half, lanes.stride};
  NodePart part(plan, elements, shares_of(plan, elements.count), {regions, epoch});
  part.stage();
  CROSSRAIL_TRY(part.reduce());
  const Elements share = part.results();
  if (share.count > 0) CROSSRAIL_TRY(across_nodes(plan, share));
  return part.collect();
}

}  // namespace

Status across_nodes(Plan& plan, const Elements& share) {
  const Exchange lane{plan, plan.topology->lane, combiner_of(plan), plan.scratch()};
  switch (in_lane(plan, share.count)) {
    case InLane::ring: return ring::reduce(lane, share);
    case InLane::halved: return rabenseifner::reduce(lane, share);
    case InLane::whole: break;
  }
  return recursive_doubling::reduce(lane, share);
}

Fit fit(const Topology& topology, const Shape& shape) {
  const std::size_t element_bytes = bytes_of(shape.reduction.element);
  return Fit()
      .needs(topology.shared_segment, kSharedMemory)
      .needs(is_defined(shape.reduction), kDefinedReduction)
      .needs(free_order(topology, shape), kFreeOrder)
      .needs(topology.scratch_bytes / (2 * static_cast<std::uint64_t>(topology.largest_node())) >= element_bytes, kMoreScratch)
      .planned(Planning::when_larger);
}

Status plan(Plan& plan) {
  const std::size_t element_bytes = bytes_of(plan.shape.reduction.element);
  plan.share_with_helpers(plan.parameter(parameters::processes));
  plan.chunk_bytes = part_at_most(plan);
  const std::size_t stride = round_up(plan.chunk_bytes, element_bytes > kCacheLineBytes ? 1 : kCacheLineBytes);
  const std::size_t grain = std::max<std::size_t>(kCacheLineBytes, plan.parameter(parameters::split));
  plan.keep(Lanes{(grain + element_bytes - 1) / element_bytes, plan.parameter(parameters::halving), plan.parameter(parameters::circling), stride});
  plan_on_devices(plan);
  const Status opened = plan.open_messages_and_memory(2 * stride * static_cast<std::size_t>(plan.topology->node_size()));
  const Status reserved = plan.reserve_scratch(std::max(plan.chunk_bytes, NodePart::scratch_bytes(plan.topology->node_size())));
  return opened.ok() ? reserved : opened;
}

Status run(Plan& plan, const Buffers& buffers) {
  const Elements elements = elements_of(plan, buffers);
  if (elements.count == 0) return {};
  std::byte* memory = nullptr;
  CROSSRAIL_TRY(plan.enter_node_memory(memory));
  return in_parts(elements, bytes_of(plan.shape.reduction.element), plan.chunk_bytes,
                  [&](const Elements& part) { return run_part(plan, part, memory); });
}

}  // namespace crossrail::allreduce::multi_lane
