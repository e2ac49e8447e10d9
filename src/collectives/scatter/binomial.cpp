// What   A binomial tree: the root sends each child all blocks of its subtree, and every rank that receives some passes on those that are
//        not its own.
// When   Short blocks and many ranks by messages.
// Cost   log2(p) a + (p-1)mb, and pm copied at the root.
// Needs  Scratch for all blocks.
// From   Thakur, Rabenseifner, Gropp 2005, section 2.

#include "collectives/rooted_tree.h"

namespace crossrail::scatter::binomial {

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
  std::byte* const row = leaf ? buffers.recv : plan.scratch();
  if (is_root(plan)) {
    const TurnedRow turned(plan);
    copy_block(row, buffers.send + turned.before, turned.behind);
    copy_block(row + turned.behind, buffers.send, turned.before);
  } else {
    CROSSRAIL_TRY(plan.receive(tree.parent(), row, static_cast<std::size_t>(tree.subtree()) * block));
    CROSSRAIL_TRY(plan.links->wait_posted());
  }
  CROSSRAIL_TRY(tree.for_children_backwards([&](int child, std::size_t first, std::size_t count) { return plan.send(child, row + first * block, count * block); }));
  if (is_root(plan)) {
    copy_own(plan, buffers);
  } else if (!leaf) {
    copy_block(buffers.recv, row, block);
  }
  return plan.links->wait_posted();
}

}  // namespace crossrail::scatter::binomial
