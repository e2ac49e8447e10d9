// What   A binomial tree: every rank receives from its children all blocks of their subtrees, adds its own, and sends them to its parent. The
//        root puts them in the order of the ranks.
// When   Short blocks and many ranks by messages.
// Cost   log2(p) a + (p-1)mb, and pm copied at the root.
// Needs  Scratch for all blocks.
// From   Thakur, Rabenseifner, Gropp 2005, section 2.

#include "collectives/rooted_tree.h"

namespace crossrail::gather::binomial {

Fit fit(const Topology& topology, const Shape&) { return Fit().at_most(topology.scratch_bytes / static_cast<std::size_t>(topology.size)); }

Status plan(Plan& plan) {
  const Status opened = plan.links->open_messages();
  const Status reserved = plan.reserve_scratch(plan.shape.block_bytes * static_cast<std::size_t>(plan.group.size()));
  return opened.ok() ? reserved : opened;
}

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes;
  if (block == 0) return {};
  const RootedTree tree(plan);
  const bool leaf = !is_root(plan) && tree.subtree() == 1;
  std::byte* const row = plan.scratch();
  CROSSRAIL_TRY(tree.for_children([&](int child, std::size_t first, std::size_t count) { return plan.receive(child, row + first * block, count * block); }));
  const std::byte* const own = own_block(plan, buffers);
  if (!leaf) copy_block(row, own, block);
  CROSSRAIL_TRY(plan.links->wait_posted());
  if (is_root(plan)) {
    const TurnedRow turned(plan);
    copy_block(buffers.recv + turned.before, row, turned.behind);
    copy_block(buffers.recv, row + turned.behind, turned.before);
    return {};
  }
  CROSSRAIL_TRY(plan.send(tree.parent(), leaf ? own : row, static_cast<std::size_t>(tree.subtree()) * block));
  return plan.links->wait_posted();
}

}  // namespace crossrail::gather::binomial
