// What all allreduces share: a rank's elements, how they are divided, and what combines them.
#pragma once

#include <algorithm>

#include "collectives/algorithm.h"
#include "collectives/combine.h"

namespace crossrail::allreduce {

// What a plan combines with.
struct Combiner {
  Combine combine;
  std::size_t element_bytes;
  bool rank_order;  // one after the other: Tree
};

inline Combiner combiner_of(const Plan& plan) {
  return {combine_of(plan.shape.reduction), bytes_of(plan.shape.reduction.element), plan.topology->rank_order};
}

// Whether an algorithm may combine in an order of its own.
inline constexpr const char* kDefinedReduction = "an operation that MPI defines for such elements";
inline constexpr const char* kFreeOrder = "any order of the ranks (CROSSRAIL_REPRODUCIBLE off)";
inline bool free_order(const Topology& topology, const Shape& shape) { return !topology.rank_order || !depends_on_order(shape.reduction); }

// A rank's elements and where their results go: apart, or the same memory. The results may be written before others' elements are
// known, never before this rank's own have been read.
struct Elements {
  const std::byte* send;
  std::byte* recv;
  std::size_t count;
  bool in_place() const { return send == recv; }
  Elements part(std::size_t first, std::size_t many, std::size_t element_bytes) const {
    return {send + first * element_bytes, recv + first * element_bytes, many};
  }
};

inline Elements elements_of(const Plan& plan, const Buffers& buffers) {
  return {buffers.send, buffers.recv, plan.shape.block_bytes / bytes_of(plan.shape.reduction.element)};
}

// Consecutive elements.
struct Stretch {
  std::size_t first, count;
};

// Elements dealt to so many members, the first ones having one more where it does not come out even.
struct Deal {
  std::size_t count, members;
  std::size_t begin(std::size_t member) const { return count / members * member + std::min(member, count % members); }
  Stretch between(std::size_t member, std::size_t end) const { return {begin(member), begin(end) - begin(member)}; }
  Stretch of(std::size_t member) const { return between(member, member + 1); }
};

// A group of one: its elements are the result.
inline void copy_alone(const Elements& elements, std::size_t element_bytes) {
  if (!elements.in_place()) copy_block(elements.recv, elements.send, elements.count * element_bytes);
}

// Calls `reduce(part)` for parts of at most `most` bytes, one after the other: so that what it needs is bounded.
template <class Reduce>
Status in_parts(const Elements& all, std::size_t element_bytes, std::size_t most, Reduce reduce) {
  const std::size_t step = most / element_bytes;
  for (std::size_t first = 0; first < all.count; first += step) {
    CROSSRAIL_TRY(reduce(all.part(first, std::min(step, all.count - first), element_bytes)));
  }
  return {};
}

}  // namespace crossrail::allreduce
