// Alltoalls that gather a node's blocks in its memory and exchange them with other nodes as whole regions share this code: which ranks exchange,
// where regions lie, and how blocks get there and back.
//
// The region for a node contains the blocks of all senders here for all receivers there, as [sender][receiver], so that it travels as one message and
// the receivers find their blocks.
#pragma once

#include <algorithm>
#include <vector>

#include "collectives/alltoall/slices.h"
#include "collectives/nodes.h"

namespace crossrail::alltoall {

// Returns how many blocks leave a node, those for its own ranks included. As many arrive.
inline std::size_t blocks_of(const Topology& topology, int node) { return ranks_on(topology, node) * static_cast<std::size_t>(topology.size); }

// Returns the longest block of which the memory of every node holds all that leave the node, `copies` times.
inline std::size_t longest_of_copies(const Topology& topology, std::size_t copies) {
  return topology.scratch_bytes / (copies * static_cast<std::size_t>(topology.largest_node()) * static_cast<std::size_t>(topology.size));
}

// This is for schemes without slices.
inline Fit fit_copies(const Topology& topology, std::size_t copies) {
  return Fit().needs(topology.shared_segment, kSharedMemory).at_most(longest_of_copies(topology, copies)).planned(Planning::when_larger);
}

// Returns the bytes of the region for a node, or from it, with so many bytes of every block.
inline std::size_t region_bytes(const Topology& topology, int node, std::size_t slice) {
  return slice * ranks_on(topology, node) * static_cast<std::size_t>(topology.node_size());
}

// Regions lie one after the other in one node's memory, one for each node, in the order of the nodes.
struct Regions {
  std::vector<std::size_t> at;  // They are the places of every node's region, from the start of the node's memory.
  std::size_t end = 0;
};

inline Regions plan_regions(const Plan& plan, std::size_t slice, std::size_t begin) {
  const Topology& topology = *plan.topology;
  Regions regions;
  regions.end = begin;
  for (int node = 0; node < topology.node_count(); ++node) {
    regions.at.push_back(regions.end);
    regions.end += region_bytes(topology, node, slice);
  }
  return regions;
}

// It has one region for every node in each direction.
struct BothWays {
  Slicing slicing;
  Regions leaving, arriving;
};

inline Status plan_both_ways(Plan& plan, const Slicing& slicing) {
  BothWays regions;
  regions.slicing = slicing;
  regions.leaving = plan_regions(plan, slicing.slice, 0);
  regions.arriving = plan_regions(plan, slicing.slice, regions.leaving.end);
  plan.keep(std::move(regions));
  return plan.open_messages_and_memory(2 * blocks_of(*plan.topology, plan.topology->node()) * slicing.room);
}

// Copies this rank's blocks for the ranks of `node`, one after the other.
inline void stage_for_node(Plan& plan, Slice slice, int node, std::byte* to) {
  const Group& ranks = plan.topology->nodes[node];
  if (ranks.consecutive() && slice.whole()) {
    plan.stage(to, slice.send + ranks[0] * slice.pitch, ranks.size() * slice.bytes);
    return;
  }
  for (const int rank : ranks) {
    plan.stage(to, slice.send + rank * slice.pitch, slice.bytes);
    to += slice.bytes;
  }
}

// Copies this rank's blocks for all nodes into their regions.
inline void stage_regions(Plan& plan, const Slice& slice, const std::vector<std::size_t>& at, std::byte* memory) {
  const Topology& topology = *plan.topology;
  for (int node = 0; node < topology.node_count(); ++node) {
    const std::size_t row = slice.bytes * ranks_on(topology, node);
    stage_for_node(plan, slice, node, memory + at[node] + static_cast<std::size_t>(topology.node_rank()) * row);
  }
}

// A Column is the blocks of one rank from several senders: where the first lies, and how far the next is.
struct Column {
  const std::byte* first;
  std::size_t stride;
};

// Copies this rank's blocks from the ranks of `node`.
inline void copy_column(const Plan& plan, Slice slice, int node, Column from) {
  for (const int sender : plan.topology->nodes[node]) {
    copy_block(slice.recv + sender * slice.pitch, from.first, slice.bytes);
    from.first += from.stride;
  }
}

// Copies this rank's blocks out of a region that has come from `node`.
inline void copy_from_region(const Plan& plan, const Slice& slice, int node, const std::byte* region) {
  const Topology& topology = *plan.topology;
  copy_column(plan, slice, node, {region + static_cast<std::size_t>(topology.node_rank()) * slice.bytes,
                                  slice.bytes * static_cast<std::size_t>(topology.node_size())});
}

// Copies this rank's blocks from its own node, whose ranks fill them in `epoch`, and announces that it has read them.
template <class Copy>
Status copy_own_node(Plan& plan, std::uint64_t epoch, Copy copy) {
  ControlBlock& control = *plan.control;
  CROSSRAIL_TRY(control.wait_all(filled, epoch));
  copy();
  control.post(copied, epoch);
  return {};
}

// Ends a step whose messages the leader has posted: all ranks learn that they have come. The first time it also waits until all ranks have read what
// they need of their own node, so that the next call may write there. `epoch` is that of the call.
inline Status finish_step(Plan& plan, std::uint64_t epoch, int step) {
  ControlBlock& control = *plan.control;
  const std::uint64_t step_epoch = control.next_epoch();
  if (control.node_rank() != 0) return control.wait(0, arrived, step_epoch);
  CROSSRAIL_TRY(plan.links->wait_posted());
  if (step == 1) CROSSRAIL_TRY(control.wait_all(copied, epoch));
  control.post(arrived, step_epoch);
  return {};
}

// With one node there are no steps, so no rank may leave before all have read.
template <class Copy>
Status copy_last_of_one_node(Plan& plan, Copy copy) {
  CROSSRAIL_TRY(copy());
  return plan.control->barrier();
}

// A StepwiseCall is one call of leaders that exchange step by step with `exchange(partners)`, after this
// rank has marked `filled` for `epoch`. Meanwhile all ranks copy what has arrived in the step before
// (OHIO paper, sections III-A and III-B). `copy_own()` copies the blocks of this rank's own node.
template <class Exchange, class CopyOwn>
struct StepwiseCall {
  Plan& plan;
  Slice slice;
  const std::byte* memory;
  const Regions& arriving;
  std::uint64_t epoch;
  Exchange exchange;
  CopyOwn copy_own;

  Status run() {
    const Topology& topology = *plan.topology;
    if (topology.one_node()) return copy_last_of_one_node(plan, copy_own);
    const bool leads = topology.node_rank() == 0;
    if (leads) CROSSRAIL_TRY(plan.control->wait_all(filled, epoch));
    for (int step = 1; step < topology.node_count(); ++step) {
      if (leads) CROSSRAIL_TRY(exchange(partners_of(topology, step)));
      if (step == 1) {
        CROSSRAIL_TRY(copy_own());
      } else {
        copy_arrived(step - 1);
      }
      CROSSRAIL_TRY(finish_step(plan, epoch, step));
    }
    copy_arrived(topology.node_count() - 1);
    return {};
  }

 private:
  void copy_arrived(int step) {
    const int node = partners_of(*plan.topology, step).from;
    copy_from_region(plan, slice, node, memory + arriving.at[node]);
  }
};

}  // namespace crossrail::alltoall
