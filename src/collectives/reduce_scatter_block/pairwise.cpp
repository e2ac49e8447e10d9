// What   size - 1 steps; in step k every rank sends the block for the rank k after it, gets its own from the rank k before it, and combines that with
//        what it has. Long blocks are moved part by part. If rank order is asked for, the parts of all ranks are received before they are combined.
// When   Long blocks, ranks that share no memory.
// Cost   (p-1)(a + mb), and m read and combined p-1 times.
// Needs  Scratch for two parts of a block, each 16 MiB at most; in the order of the ranks for one of every rank, 16 MiB together.
// From   Thakur, Rabenseifner, Gropp 2005, section 4.4.

#include "collectives/reduce_scatter_block/pairwise.h"

namespace crossrail::reduce_scatter_block::pairwise {

Fit fit(const Topology& topology, const Shape& shape) { return fit_pairs(topology, shape); }

Status plan(Plan& plan) { return plan_pairs(plan, plan.shape.block_bytes); }

Status run(Plan& plan, const Buffers& buffers) {
  return plan.shape.block_bytes == 0 ? Status{} : run_pairs(plan, equal_blocks(plan, buffers));
}

}  // namespace crossrail::reduce_scatter_block::pairwise
