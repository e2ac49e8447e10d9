// These allreduces use messages over any Group: those of this collective's rows, and the lanes of schemes with levels.
//
// When two operands meet, that of the members with lower indices is always the first. Therefore it does not matter which rank combines them, and all
// members come to the same bits.
#pragma once

#include "collectives/allreduce/elements.h"

namespace crossrail::allreduce {

// They need this rank's own memory for elements that arrive.
struct Exchange {
  Plan& plan;
  Group group;
  Combiner by;
  std::byte* arriving;  // It has bytes_arriving() bytes.

  Status receive(int member, std::byte* to, std::size_t elements) const {
    return elements == 0 ? Status{} : plan.receive(group[member], to, elements * by.element_bytes);
  }
  Status send(int member, const std::byte* from, std::size_t elements) const {
    return elements == 0 ? Status{} : plan.send(group[member], from, elements * by.element_bytes);
  }
  Status wait() const { return plan.links->wait_posted(); }
  // Combines what has arrived from `member` with `mine`, in the order of members.
  void combine_arrived(int member, const std::byte* mine, std::byte* to, std::size_t elements) const {
    if (member < group.index()) {
      by.combine(arriving, mine, to, elements);
    } else {
      by.combine(mine, arriving, to, elements);
    }
  }
};

namespace recursive_doubling {
Status reduce(const Exchange& exchange, const Elements& elements);
}
namespace rabenseifner {
Status reduce(const Exchange& exchange, const Elements& elements);
}
namespace ring {
Status reduce(const Exchange& exchange, const Elements& elements);
}

// No larger part of a rank's elements is reduced at a time. It is rounded down to whole elements.
constexpr std::size_t kMostPartBytes = std::size_t{16} << 20;
inline std::size_t part_bytes(const Topology& topology, const Shape& shape) {
  const std::size_t most = std::min<std::uint64_t>(kMostPartBytes, topology.scratch_bytes);
  const std::size_t element = bytes_of(shape.reduction.element);
  return element == 0 ? 0 : most / element * element;
}
inline std::size_t bytes_arriving(const Topology& topology, const Shape& shape) {
  return std::min<std::uint64_t>(part_bytes(topology, shape), shape.block_bytes);
}
inline Fit fit_messages(const Topology& topology, const Shape& shape) {
  return Fit().needs(is_defined(shape.reduction), kDefinedReduction).needs(part_bytes(topology, shape) > 0, kMoreScratch).planned(Planning::when_larger);
}
// This is for algorithms that combine operands in member order. With two ranks there is only that order.
inline Fit fit_doubling(const Topology& topology, const Shape& shape) {
  return fit_messages(topology, shape).needs(free_order(topology, shape) || topology.size <= 2, kFreeOrder);
}
// This is for rows that only send messages.
inline Status plan_messages(Plan& plan) {
  CROSSRAIL_TRY(plan.links->open_messages());
  return plan.reserve_scratch(bytes_arriving(*plan.topology, plan.shape));
}
template <class Reduce>
Status run_messages(Plan& plan, const Buffers& buffers, Reduce reduce) {
  const Exchange exchange{plan, plan.group, combiner_of(plan), plan.scratch()};
  return in_parts(elements_of(plan, buffers), exchange.by.element_bytes, part_bytes(*plan.topology, plan.shape),
                  [&](const Elements& part) { return reduce(exchange, part); });
}

// Folded handles a group whose size is no power of two: the first members form pairs, each of which counts as one participant. The even member of a
// pair gives its elements to the odd one and gets the results at the end.
class Folded {
 public:
  explicit Folded(const Group& group) : size_(group.size()) {
    while (2 * participants_ <= size_) participants_ *= 2;
    paired_ = size_ - participants_;
    const int index = group.index();
    participant_ = index >= 2 * paired_ ? index - paired_ : index % 2 != 0 ? index / 2 : -1;
  }
  int participants() const { return participants_; }
  int participant() const { return participant_; }  // It is this rank's number among them, or -1 if its partner stands for it.
  int member(int participant) const { return participant < paired_ ? 2 * participant + 1 : participant + paired_; }

  // A rank for which its partner stands does only this.
  Status give_and_get(const Exchange& exchange, const Elements& elements) const {
    const int partner = exchange.group.index() + 1;
    CROSSRAIL_TRY(exchange.send(partner, elements.send, elements.count));
    CROSSRAIL_TRY(exchange.wait());
    CROSSRAIL_TRY(exchange.receive(partner, elements.recv, elements.count));
    return exchange.wait();
  }
  // A participant calls it first. Afterwards `mine` points to the elements for which it stands.
  Status take(const Exchange& exchange, const Elements& elements, const std::byte*& mine) const {
    mine = elements.send;
    if (participant_ >= paired_) return {};
    const int partner = exchange.group.index() - 1;
    CROSSRAIL_TRY(exchange.receive(partner, exchange.arriving, elements.count));
    CROSSRAIL_TRY(exchange.wait());
    exchange.combine_arrived(partner, mine, elements.recv, elements.count);
    mine = elements.recv;
    return {};
  }
  // A participant calls it last.
  Status give_back(const Exchange& exchange, const Elements& elements) const {
    if (participant_ >= paired_) return {};
    CROSSRAIL_TRY(exchange.send(exchange.group.index() - 1, elements.recv, elements.count));
    return exchange.wait();
  }

 private:
  int size_;
  int participants_ = 1;
  int paired_ = 0;  // It counts pairs.
  int participant_ = 0;
};

}  // namespace crossrail::allreduce
