// A NodePart is a part of the elements that the ranks of one node combine in shared memory. Every rank stages its elements. Each of the first
// `reducers` ranks combines its share of all of them in the order of a Tree and leaves the results there. Then all ranks copy the results out.
#pragma once

#include <algorithm>

#include "collectives/allreduce/tree.h"
#include "collectives/results.h"

namespace crossrail::allreduce {

// Every rank of the node has a region, `stride` bytes behind that of the rank before.
struct Regions {
  std::byte* first;
  std::size_t stride;
  std::byte* of(int node_rank) const { return first + static_cast<std::size_t>(node_rank) * stride; }
};

// Shares says how elements are dealt to ranks: in grains, none of which is divided.
struct Shares {
  std::size_t count, grain;
  int reducers;
  Stretch of(int node_rank) const {
    if (node_rank >= reducers) return {count, 0};
    const Deal grains{(count + grain - 1) / grain, static_cast<std::size_t>(reducers)};
    const Stretch mine = grains.of(static_cast<std::size_t>(node_rank));
    const std::size_t first = std::min(mine.first * grain, count);
    return {first, std::min((mine.first + mine.count) * grain, count) - first};
  }
};

// Shares are multiples of this many elements, so that no cache line contains two ranks' shares.
inline std::size_t grain_of(std::size_t element_bytes) { return (kCacheLineBytes + element_bytes - 1) / element_bytes; }

class NodePart {
 public:
  // The epoch of the slot must be unused, and the memory must be writable.
  struct Place {
    Regions regions;
    std::uint64_t epoch;
  };
  NodePart(Plan& plan, const Elements& elements, const Shares& shares, const Place& place)
      : plan_(plan), control_(*plan.control), by_(combiner_of(plan)), elements_(elements), shares_(shares), place_(place) {}

  // reduce() needs so many bytes of the plan's scratch.
  static std::size_t scratch_bytes(int ranks) { return Tree::room(ranks, kBlockBytes); }

  // Stages for the other ranks everything except what this rank combines itself.
  void stage() {
    const Stretch mine = shares_.of(control_.node_rank());
    const std::size_t behind = mine.first + mine.count;
    copy({0, mine.first}, my_region(), elements_.send);
    copy({behind, elements_.count - behind}, my_region(), elements_.send);
    plan_.last.staged_bytes += (elements_.count - mine.count) * by_.element_bytes;
    control_.post(filled, place_.epoch);
  }

  // Combines this rank's share. The results then lie at results().
  Status reduce() {
    const Stretch mine = shares_.of(control_.node_rank());
    const std::size_t block = std::max<std::size_t>(1, kBlockBytes / by_.element_bytes);
    for (std::size_t done = 0; done < mine.count; done += block) {
      CROSSRAIL_TRY(reduce_block({mine.first + done, std::min(block, mine.count - done)}));
    }
    return {};
  }
  // Returns the results as elements that can be combined with those of other nodes.
  Elements results() const {
    const Stretch mine = shares_.of(control_.node_rank());
    std::byte* const first = at(my_region(), mine.first);
    return {first, first, mine.count};
  }

  // Is called when this rank's results are there. Copies all ranks' results to their destination.
  Status collect() {
    control_.post(reduced, place_.epoch);
    const CopyResults copy_result = copy_of_results(plan_, plan_.shape.block_bytes);
    for (int step = 0; step < control_.node_size(); ++step) {
      const int peer = (control_.node_rank() + step) % control_.node_size();
      const Stretch its = shares_.of(peer);
      if (its.count == 0) continue;
      if (step > 0) CROSSRAIL_TRY(control_.wait(peer, reduced, place_.epoch));
      copy_result(at(elements_.recv, its.first), at(place_.regions.of(peer), its.first), its.count * by_.element_bytes);
    }
    // There is always a first share, and the rank that combined it has seen all the others arrive.
    control_.seen_all(place_.epoch);
    return {};
  }

 private:
  // A Tree combines blocks of this size, so that as many ranks' elements as it keeps at a time stay in a core's first-level cache.
  static constexpr std::size_t kBlockBytes = 4 * 1024;

  template <class Byte>
  Byte* at(Byte* base, std::size_t element) const {
    return base + element * by_.element_bytes;
  }
  void copy(const Stretch& elements, std::byte* to, const std::byte* from) const {
    copy_in_cache(at(to, elements.first), at(from, elements.first), elements.count * by_.element_bytes);
  }
  std::byte* my_region() const { return place_.regions.of(control_.node_rank()); }
  const std::byte* from(int peer, std::size_t first) const {
    return peer == control_.node_rank() ? at(elements_.send, first) : at(place_.regions.of(peer), first);
  }

  Status reduce_block(const Stretch& block) {
    std::byte* const to = at(my_region(), block.first);
    const auto operand = [&](int peer, const std::byte*& at) -> Status {
      if (peer != control_.node_rank()) CROSSRAIL_TRY(control_.wait(peer, filled, place_.epoch));
      at = from(peer, block.first);
      return {};
    };
    if (control_.node_size() == 1) {
      copy_block(to, from(0, block.first), block.count * by_.element_bytes);
      return {};
    }
    return Tree(by_, control_.node_size(), plan_.scratch(), kBlockBytes).combine(block.count, to, operand);
  }

  Plan& plan_;
  ControlBlock& control_;
  Combiner by_;
  Elements elements_;
  Shares shares_;
  Place place_;
};

namespace node_shared {
// Returns the bytes of the largest part, or 0 if there is no room for even one element.
std::size_t most_staged(const Plan& plan);
// Reduces any number of elements, part by part, in the regions of the slot's segment. The plan must have NodePart's scratch and such a part.
Status reduce_by_parts(Plan& plan, const Elements& elements);
}  // namespace node_shared

}  // namespace crossrail::allreduce
