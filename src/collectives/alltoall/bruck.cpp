// What   Blocks are rotated so that block i is for rank+i; in step k (1, 2, 4, ...) all blocks whose
//        number has bit k go to rank+k in one message; at the end the blocks are rotated back.
// When   Small blocks: few messages, every block forwarded up to log2(p) times.
// Cost   ceil(log2 p)(a + (p/2)mb).
// Needs  Scratch for 2p blocks: the rotated blocks, and a message out and one in of p/2 each.
// From   Bruck, Ho, Kipnis, Weathersby 1994; OHIO paper, Table I.

#include "collectives/algorithm.h"

namespace crossrail::alltoall::bruck {

Fit fit(const Topology& topology, const Shape&) { return Fit().at_most(topology.scratch_bytes / (2 * static_cast<std::uint64_t>(topology.size) + 2)); }

Status plan(Plan& plan) {
  CROSSRAIL_TRY(plan.links->open_messages());
  const std::size_t size = plan.group.size();
  return plan.reserve_scratch(plan.shape.block_bytes * (size + 2 * ((size + 1) / 2)));
}

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes;
  const Group group = plan.group;
  const int index = group.index(), size = group.size();
  std::byte* const rotated = plan.scratch();
  std::byte* const outgoing = rotated + size * block;
  std::byte* const incoming = outgoing + (size + 1) / 2 * block;

  // In place, buffers.send is buffers.recv; all of it is read here before anything is written there.
  copy_block(rotated, buffers.send + index * block, (size - index) * block);
  copy_block(rotated + (size - index) * block, buffers.send, index * block);
  for (int step = 1; step < size; step <<= 1) {
    std::size_t moved = 0;
    for (int number = step; number < size; ++number) {
      if ((number & step) != 0) copy_block(outgoing + moved++ * block, rotated + number * block, block);
    }
    CROSSRAIL_TRY(plan.receive(group[(index - step + size) % size], incoming, moved * block));
    CROSSRAIL_TRY(plan.send(group[(index + step) % size], outgoing, moved * block));
    CROSSRAIL_TRY(plan.links->wait_posted());
    moved = 0;
    for (int number = step; number < size; ++number) {
      if ((number & step) != 0) copy_block(rotated + number * block, incoming + moved++ * block, block);
    }
  }
  // Block `number` has come from rank - number.
  for (int number = 0; number < size; ++number) {
    const int source = (index - number + size) % size;
    copy_block(buffers.recv + source * block, rotated + number * block, block);
  }
  return {};
}

}  // namespace crossrail::alltoall::bruck
