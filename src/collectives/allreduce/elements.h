// All allreduces share this code: a rank's elements, how they are divided, and what combines them.
#pragma once

#include <algorithm>

#include "collectives/algorithm.h"
#include "collectives/combine.h"

namespace crossrail::allreduce {

// A plan combines with it.
struct Combiner {
  Combine combine;
  std::size_t element_bytes;
  bool rank_order;  // Elements are combined one member after the other, instead of by a Tree.
};

inline Combiner combiner_of(const Plan& plan) {
  return {combine_of(plan.shape.reduction), bytes_of(plan.shape.reduction.element), plan.topology->rank_order};
}

// An algorithm may use an order of its own for such a reduction.
inline constexpr const char* kDefinedReduction = "an operation that MPI defines for such elements";
inline constexpr const char* kFreeOrder = "any order of the ranks (CROSSRAIL_REPRODUCIBLE off)";
inline bool free_order(const Topology& topology, const Shape& shape) { return !topology.rank_order || !depends_on_order(shape.reduction); }

// These are a rank's elements and the place of their results, which is separate or the same memory. The results may be written before others'
// elements are known, but never before this rank's own have been read.
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

// A Stretch is a range of consecutive elements.
struct Stretch {
  std::size_t first, count;
};

// A Deal divides elements among members. If they do not divide evenly, the first members get one more.
struct Deal {
  std::size_t count, members;
  std::size_t begin(std::size_t member) const { return count / members * member + std::min(member, count % members); }
  Stretch between(std::size_t member, std::size_t end) const { return {begin(member), begin(end) - begin(member)}; }
  Stretch of(std::size_t member) const { return between(member, member + 1); }
};

// In a group of one, its elements are the result.
inline void copy_alone(const Elements& elements, std::size_t element_bytes) {
  if (!elements.in_place()) copy_block(elements.recv, elements.send, elements.count * element_bytes);
}

// Calls `reduce(part)` for one part after the other, of at most `most` bytes each, to limit the memory that it needs.
template <class Reduce>
Status in_parts(const Elements& all, std::size_t element_bytes, std::size_t most, Reduce reduce) {
  const std::size_t step = most / element_bytes;
  for (std::size_t first = 0; first < all.count; first += step) {
    CROSSRAIL_TRY(reduce(all.part(first, std::min(step, all.count - first), element_bytes)));
  }
  return {};
}

}  // namespace crossrail::allreduce
