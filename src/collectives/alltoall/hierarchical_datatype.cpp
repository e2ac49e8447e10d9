// What   Gather, exchange, scatter: the leader takes the rows of all ranks of its node apart, as a
//        receive with strided datatypes does; leaders exchange pairwise; the leader puts the rows
//        of its ranks together and they fetch them. Nothing overlaps.
// When   A published baseline.
// Cost   (N-1)(a + PPN^2 mb) between leaders + 4 p PPN m copied by the leader, 2pm by the others;
//        N-1 partners and N-1 sends a node.
// Needs  A shared segment on every node; scratch for a region out and one in at the leader.
// From   Traeff, Rougier, MPI collectives and datatypes for hierarchical all-to-all communication,
//        EuroMPI 2014; OHIO paper, Table I. There the datatype engine moves the blocks; here loops do.

#include <algorithm>

#include "collectives/alltoall/node_regions.h"

namespace crossrail::alltoall::hierarchical_datatype {
namespace {

struct Layout {
  std::size_t row_bytes;  // It is the size of a rank's row, in rank order.
  std::size_t gathered, scattered;  // They hold the rows of all ranks of the node.
  std::size_t largest_region;
};

// Gathers the blocks between two sets of ranks from their rows into one region, and puts them back.
void take_region(const Plan& plan, const std::byte* rows, int node, std::byte* region) {
  const std::size_t block = plan.shape.block_bytes;
  for (int sender = 0; sender < plan.topology->node_size(); ++sender) {
    for (const int receiver : plan.topology->nodes[node]) {
      copy_block(region, rows + receiver * block, block);
      region += block;
    }
    rows += plan.kept<Layout>().row_bytes;
  }
}

void put_region(const Plan& plan, const std::byte* region, int node, std::byte* rows) {
  const std::size_t block = plan.shape.block_bytes;
  for (const int sender : plan.topology->nodes[node]) {
    for (int receiver = 0; receiver < plan.topology->node_size(); ++receiver) {
      copy_block(rows + static_cast<std::size_t>(receiver) * plan.kept<Layout>().row_bytes + sender * block, region, block);
      region += block;
    }
  }
}

Status lead(Plan& plan, std::byte* memory) {
  const Topology& topology = *plan.topology;
  const Layout& layout = plan.kept<Layout>();
  std::byte* const out = plan.scratch();
  std::byte* const in = out + layout.largest_region;
  take_region(plan, memory + layout.gathered, topology.node(), out);
  put_region(plan, out, topology.node(), memory + layout.scattered);
  for (int step = 1; step < topology.node_count(); ++step) {
    const Partners partners = partners_of(topology, step);
    CROSSRAIL_TRY(plan.receive(topology.leaders[partners.from], in, region_bytes(topology, partners.from, plan.shape.block_bytes), Links::Channel::coalesced));
    take_region(plan, memory + layout.gathered, partners.to, out);
    CROSSRAIL_TRY(plan.send(topology.leaders[partners.to], out, region_bytes(topology, partners.to, plan.shape.block_bytes), Links::Channel::coalesced));
    CROSSRAIL_TRY(plan.links->wait_posted());
    put_region(plan, in, partners.from, memory + layout.scattered);
  }
  return {};
}

}  // namespace

Fit fit(const Topology& topology, const Shape&) { return fit_copies(topology, 2); }

Status plan(Plan& plan) {
  const Topology& topology = *plan.topology;
  Layout layout;
  layout.row_bytes = plan.shape.block_bytes * static_cast<std::size_t>(topology.size);
  layout.gathered = 0;
  layout.scattered = layout.row_bytes * static_cast<std::size_t>(topology.node_size());
  layout.largest_region = 0;
  for (int node = 0; node < topology.node_count(); ++node) {
    layout.largest_region = std::max(layout.largest_region, region_bytes(topology, node, plan.shape.block_bytes));
  }
  const Layout& kept = plan.keep(layout);
  CROSSRAIL_TRY(plan.open_messages_and_memory(2 * kept.scattered));
  return topology.node_rank() == 0 ? plan.reserve_scratch(2 * kept.largest_region) : Status{};
}

Status run(Plan& plan, const Buffers& buffers) {
  ControlBlock& control = *plan.control;
  const Layout& layout = plan.kept<Layout>();
  const std::size_t row = static_cast<std::size_t>(control.node_rank()) * layout.row_bytes;
  std::byte* memory = nullptr;
  CROSSRAIL_TRY(plan.enter_node_memory(memory));
  const std::uint64_t epoch = control.next_epoch();
  plan.stage(memory + layout.gathered + row, buffers.send, layout.row_bytes);
  control.post(filled, epoch);
  if (control.node_rank() == 0) {
    CROSSRAIL_TRY(control.wait_all(filled, epoch));
    CROSSRAIL_TRY(lead(plan, memory));
    control.post(arrived, epoch);
  } else {
    CROSSRAIL_TRY(control.wait(0, arrived, epoch));
  }
  copy_block(buffers.recv, memory + layout.scattered + row, layout.row_bytes);
  return {};
}

}  // namespace crossrail::alltoall::hierarchical_datatype
