// All reduce-scatters, of equal blocks and of others, share this code. The sending side has a block for every rank; this rank receives its own,
// combined. In place, equal blocks go to the beginning of the same memory, over the block for the first rank. Other blocks may not, because the
// result would overwrite blocks that have not been read completely.
#pragma once

#include <algorithm>

#include "collectives/allreduce/tree.h"
#include "collectives/blocks.h"

namespace crossrail::reduce_scatter_block {

using allreduce::Combiner;
using allreduce::combiner_of;
using allreduce::free_order;
using allreduce::kDefinedReduction;
using allreduce::kFreeOrder;
using allreduce::Tree;

template <class Blocks>
struct Scattering {
  Blocks sent;
  std::byte* result;
  int index;  // It is this rank's index in the group.
};
inline Scattering<EqualBlocks> equal_blocks(const Plan& plan, const Buffers& buffers) {
  return {{const_cast<std::byte*>(buffers.send), plan.shape.block_bytes}, buffers.recv, plan.group.index()};
}
inline Scattering<UnequalBlocks> unequal_blocks(const Plan& plan, const Buffers& buffers) {
  return {UnequalBlocks(const_cast<std::byte*>(buffers.send), buffers.out, plan.group.size()), buffers.recv, plan.group.index()};
}

// No block of such a call is longer than this, in whole elements.
inline std::size_t longest_elements(const Plan& plan) { return round_up(longest_possible(plan), combiner_of(plan).element_bytes); }

// Returns the largest multiple of the elements' size that is not more than `bytes`.
inline std::size_t whole_elements(const Plan& plan, std::size_t bytes) {
  const std::size_t element = combiner_of(plan).element_bytes;
  return bytes / element * element;
}

// Rows are rows of elements, one of every member, that are combined into one. They are combined in stretches, so that a processor's caches hold the
// elements of some ranks meanwhile.
class Rows {
 public:
  static constexpr std::size_t kStretchBytes = 8 * 1024;
  static std::size_t scratch_bytes(int members) { return Tree::room(members, kStretchBytes); }

  // `memory` has scratch_bytes() bytes, or none if the rows are combined in the order of the ranks.
  Rows(const Plan& plan, int members, std::byte* memory) : by_(combiner_of(plan)), members_(members), memory_(memory) {}

  // `row(member, at)` sets where a member's row begins. It may wait, and is called for every stretch. `to` may be the row of the first member.
  template <class Row>
  Status combine(std::size_t bytes, std::byte* to, Row row) const {
    const std::size_t step = std::max<std::size_t>(1, kStretchBytes / by_.element_bytes) * by_.element_bytes;
    for (std::size_t done = 0; done < bytes; done += step) {
      const std::size_t now = std::min(step, bytes - done);
      const auto operand = [&](int member, const std::byte*& at) -> Status {
        CROSSRAIL_TRY(row(member, at));
        at += done;
        return {};
      };
      CROSSRAIL_TRY(combine_stretch(now, to + done, operand));
    }
    return {};
  }

 private:
  template <class Operand>
  Status combine_stretch(std::size_t bytes, std::byte* to, Operand operand) const {
    if (members_ > 1) return Tree(by_, members_, memory_, kStretchBytes).combine(bytes / by_.element_bytes, to, operand);
    const std::byte* only = nullptr;
    CROSSRAIL_TRY(operand(0, only));
    if (only != to) copy_block(to, only, bytes);
    return {};
  }

  Combiner by_;
  int members_;
  std::byte* memory_;
};

}  // namespace crossrail::reduce_scatter_block
