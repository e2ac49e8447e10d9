// What   This is reduce_scatter_block/pairwise with blocks of any lengths: in step k every rank sends the block for the rank k after it, gets its own
//        from the rank k before it, and combines that with what it has. Long blocks are moved part by part; empty ones are no messages.
// When   Long blocks, ranks that share no memory.
// Cost   (p-1)(a + mb), and m read and combined p-1 times, m being the longest block.
// Needs  Scratch for two parts of a block, each 16 MiB at most; in the order of the ranks for one of every rank, 16 MiB together.
// From   Thakur, Rabenseifner, Gropp 2005, section 4.4.

#include "collectives/reduce_scatter_block/pairwise.h"

namespace crossrail::reduce_scatter::pairwise {

Fit fit(const Topology& topology, const Shape& shape) { return reduce_scatter_block::fit_pairs(topology, shape); }

Status plan(Plan& plan) { return reduce_scatter_block::plan_pairs(plan, reduce_scatter_block::longest_elements(plan)); }

Status run(Plan& plan, const Buffers& buffers) {
  if (plan.shape.block_bytes == 0) return {};
  return reduce_scatter_block::run_pairs(plan, reduce_scatter_block::unequal_blocks(plan, buffers));
}

}  // namespace crossrail::reduce_scatter::pairwise
