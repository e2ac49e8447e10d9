// This is the code of reduce_scatter_block/pairwise and reduce_scatter/pairwise.
#pragma once

#include <algorithm>

#include "collectives/reduce_scatter_block/own_block.h"

namespace crossrail::reduce_scatter_block {

inline constexpr std::size_t kMostPartBytes = std::size_t{16} << 20;

// A rank keeps so many parts at a time.
inline std::size_t parts_kept(const Topology& topology) { return topology.rank_order ? static_cast<std::size_t>(topology.size) : 2; }

// It is rounded to whole elements; 0 means that there is no room for even one.
inline std::size_t kept_part_at_most(const Topology& topology, const Reduction& reduction) {
  const std::size_t element = bytes_of(reduction.element), kept = parts_kept(topology);
  const std::size_t largest = topology.rank_order ? kMostPartBytes / kept : kMostPartBytes;
  const std::size_t most = std::min<std::uint64_t>(largest, topology.scratch_bytes / kept);
  return element == 0 ? 0 : most / element * element;
}

inline Fit fit_pairs(const Topology& topology, const Shape& shape) {
  const bool room = kept_part_at_most(topology, shape.reduction) > 0;
  return Fit().needs(is_defined(shape.reduction), kDefinedReduction).at_most(room ? ~std::uint64_t{0} : 0).planned(Planning::when_larger);
}

// Plans room for parts of blocks; the longest block has `longest` bytes.
inline Status plan_pairs(Plan& plan, std::size_t longest) {
  plan.chunk_bytes = std::min(kept_part_at_most(*plan.topology, plan.shape.reduction), longest);
  const Status opened = plan.links->open_messages();
  const Status reserved = plan.reserve_scratch(parts_kept(*plan.topology) * plan.chunk_bytes);
  return opened.ok() ? reserved : opened;
}

template <class Blocks>
class PairwisePart {
 public:
  PairwisePart(Plan& plan, const Scattering<Blocks>& scattering, std::size_t from)
      : plan_(plan), scattering_(scattering), from_(from), index_(scattering.index), size_(plan.group.size()), mine_(bytes_of(index_)) {}

  // Moves a part of all blocks. In place, its result goes where the first block's part lay, which has been sent by then.
  Status run() {
    const Combiner by = combiner_of(plan_);
    std::byte *const combined = plan_.scratch(), *const arriving = combined + plan_.chunk_bytes;
    copy_block(combined, at(index_), mine_);
    for (int step = 1; step < size_; ++step) {
      CROSSRAIL_TRY(exchange(step, arriving));
      by.combine(combined, arriving, combined, mine_ / by.element_bytes);
    }
    copy_block(scattering_.result + from_, combined, mine_);
    return {};
  }

  // Does the same, but receives this rank's parts of all ranks first and combines them then.
  Status run_in_order() {
    const auto kept = [&](int member) { return plan_.scratch() + static_cast<std::size_t>(member) * plan_.chunk_bytes; };
    copy_block(kept(index_), at(index_), mine_);
    for (int step = 1; step < size_; ++step) CROSSRAIL_TRY(exchange(step, kept((index_ - step + size_) % size_)));
    const auto row = [&](int member, const std::byte*& at) -> Status {
      at = kept(member);
      return {};
    };
    return Rows(plan_, size_, nullptr).combine(mine_, scattering_.result + from_, row);
  }

 private:
  std::size_t bytes_of(int member) const { return scattering_.sent.piece(member, from_, plan_.chunk_bytes); }
  const std::byte* at(int member) const { return scattering_.sent.at(member) + from_; }

  Status exchange(int step, std::byte* arriving) {
    const Group& group = plan_.group;
    const int to = (index_ + step) % size_;
    const std::size_t bytes = bytes_of(to);
    if (!Blocks::is_empty(mine_)) CROSSRAIL_TRY(plan_.receive(group[(index_ - step + size_) % size_], arriving, mine_));
    if (!Blocks::is_empty(bytes)) CROSSRAIL_TRY(plan_.send(group[to], at(to), bytes));
    return plan_.links->wait_posted();
  }

  Plan& plan_;
  const Scattering<Blocks>& scattering_;
  std::size_t from_;
  int index_, size_;
  std::size_t mine_;
};

template <class Blocks>
Status run_pairs(Plan& plan, const Scattering<Blocks>& scattering) {
  const std::size_t longest = scattering.sent.longest();
  for (std::size_t from = 0; from < longest; from += plan.chunk_bytes) {
    PairwisePart part(plan, scattering, from);
    CROSSRAIL_TRY(plan.topology->rank_order ? part.run_in_order() : part.run());
  }
  return {};
}

}  // namespace crossrail::reduce_scatter_block
