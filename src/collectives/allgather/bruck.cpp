// What   log2(size) steps: in step k every rank sends all blocks that it has, 2^k or as many as are missing, to the rank 2^k before it. The blocks
//        arrive in the order of distance and are rotated at the end.
// When   Short blocks and many ranks.
// Cost   log2(p) a + (p-1)mb + 2pm copied.
// Needs  Scratch for all blocks.
// From   Bruck et al. 1997, section 4; Thakur, Rabenseifner, Gropp 2005, section 4.1.

#include <algorithm>

#include "collectives/allgather/own_block.h"

namespace crossrail::allgather::bruck {

Fit fit(const Topology& topology, const Shape&) { return Fit().at_most(topology.scratch_bytes / static_cast<std::size_t>(topology.size)); }

Status plan(Plan& plan) {
  const Status opened = plan.links->open_messages();
  const Status reserved = plan.reserve_scratch(plan.shape.block_bytes * static_cast<std::size_t>(plan.group.size()));
  return opened.ok() ? reserved : opened;
}

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes;
  if (block == 0) return {};
  const Group group = plan.group;
  const int index = group.index(), size = group.size();
  std::byte* const gathered = plan.scratch();  // It starts with this rank's block, followed by that of the next rank.
  copy_block(gathered, equal_blocks(plan, buffers).own, block);
  for (int have = 1; have < size; have *= 2) {
    const std::size_t bytes = static_cast<std::size_t>(std::min(have, size - have)) * block;
    CROSSRAIL_TRY(plan.receive(group[(index + have) % size], gathered + static_cast<std::size_t>(have) * block, bytes));
    CROSSRAIL_TRY(plan.send(group[(index - have + size) % size], gathered, bytes));
    CROSSRAIL_TRY(plan.links->wait_posted());
  }
  const std::size_t behind = static_cast<std::size_t>(size - index) * block, before = static_cast<std::size_t>(index) * block;
  copy_block(buffers.recv + before, gathered, behind);
  copy_block(buffers.recv, gathered + behind, before);
  return {};
}

}  // namespace crossrail::allgather::bruck
