// Alltoalls that gather all blocks of a node in its memory work in slices if the blocks are too long for it: first they exchange the
// beginning of every block, then what follows it, and so on. Blocks for which there is room are one slice.
//
// The slices of a call follow one another as calls do, with epochs of their own: what keeps a call from writing where a slower rank of the node still
// reads from the call before does the same for a slice. That requires that regions lie at the same places in all slices, also in a shorter last one.
#pragma once

#include "collectives/algorithm.h"

namespace crossrail::alltoall {

// It is the shortest slice, except for shorter blocks and what is left at a block's end. Messages of still shorter slices would cost
// more than what they carry.
inline constexpr std::size_t kLeastSlice = kCacheLineBytes;

// `longest` is the longest block for which there is room on every node. It is the same on all ranks.
inline Fit fit_slices(const Topology& topology, std::size_t longest) {
  const Fit fit = Fit().needs(topology.shared_segment, kSharedMemory).planned(Planning::when_larger);
  return longest < kLeastSlice ? Fit(fit).at_most(longest) : fit;
}

struct Slicing {
  std::size_t slice;  // Every slice has so many bytes of each block; the last one may have fewer.
  // The memory has so many bytes for each block. With slices, they are as many as without for the longest block that needs none, so that a plan for a
  // shorter block never needs more memory than one for a longer block (Planning::when_larger).
  std::size_t room;
};

// All blocks are one slice.
inline Slicing whole_blocks(const Plan& plan) { return {plan.shape.block_bytes, plan.shape.block_bytes}; }

// Several leaders take more memory than `fit` knows of. If there is no room for the shortest slices either, all blocks are one slice,
// and the plan fails for want of memory.
inline Slicing slices_of(Plan& plan, std::size_t longest) {
  if (plan.shape.block_bytes <= longest || longest < kLeastSlice) return whole_blocks(plan);
  plan.chunk_bytes = longest / kCacheLineBytes * kCacheLineBytes;
  return {plan.chunk_bytes, longest};
}

// A Slice is a piece of every block.
struct Slice {
  const std::byte* send;  // The piece of the first block on each side begins here.
  std::byte* recv;
  std::size_t pitch;  // That of the next block begins so many bytes further on.
  std::size_t bytes;
  bool whole() const { return bytes == pitch; }
};

inline Slice slice_at(const Plan& plan, const Buffers& buffers, std::size_t done, std::size_t bytes) {
  return {buffers.send + done, buffers.recv + done, plan.shape.block_bytes, bytes};
}

inline Slice whole_slice(const Plan& plan, const Buffers& buffers) { return slice_at(plan, buffers, 0, plan.shape.block_bytes); }

// Runs one slice of a call after the other. In place, a slice overwrites bytes that no later one sends.
template <class RunSlice>
Status in_slices(const Plan& plan, const Buffers& buffers, const Slicing& slicing, RunSlice run_slice) {
  const std::size_t block = plan.shape.block_bytes;
  std::size_t done = 0;
  for (; block - done > slicing.slice; done += slicing.slice) CROSSRAIL_TRY(run_slice(slice_at(plan, buffers, done, slicing.slice)));
  return run_slice(slice_at(plan, buffers, done, block - done));
}

}  // namespace crossrail::alltoall
