// What collectives on device memory share: rounds of as many bytes of every block as fit the memory
// of ours that some side needs (mostly one round of whole blocks, and no such memory), and the blocks
// of an all-to-all's round in the order of the IPC paper, section III-A: first the rank's own, then rank + 1,
// rank + 2, ..., so that every device receives from one other at a time.
//
// In a stream's order there is one round, of what peers can map, between two barriers in the streams: the
// buffers of all ranks are free, and then full.
#pragma once

#include <algorithm>
#include <vector>

#include "collectives/algorithm.h"

namespace crossrail {

// Sides are rows of blocks, one for every rank: of equal length but for the last ones where all come to less, or of those of a table.
struct DeviceRound {
  std::size_t from, bytes;       // of every block
  std::size_t block, all;        // bytes of a block, and of all blocks
  const Block* table = nullptr;  // then these do not matter
  // Where a block's part in this round begins in its side.
  std::size_t begin(int number) const {
    const auto at = static_cast<std::size_t>(number);
    return (table != nullptr ? static_cast<std::size_t>(table[at].offset) : at * block) + from;
  }
  // Bytes of a block in this round.
  std::size_t of(int number) const {
    const std::size_t at = table != nullptr ? from : begin(number), end = table != nullptr ? table[number].bytes : all;
    return at >= end ? 0 : std::min(bytes, end - at);
  }
};
// Of equal blocks.
inline DeviceRound round_of(const Plan& plan, std::size_t from, std::size_t bytes) {
  return {from, bytes, plan.shape.block_bytes, plan.shape.block_bytes * static_cast<std::size_t>(plan.group.size())};
}

// Bytes from one block of a call's side to the next, as the ranks' devices see them: of collectives that reduce a
// rank's share of the elements, a whole number of them and of 16 bytes.
std::size_t device_block_bytes(const Shape& shape, int ranks);

// A rank alone needs nothing shared.
inline Fit fit_devices(const Topology& topology) {
  return Fit().needs(topology.one_node(), "all ranks on one node").needs(topology.shared_segment || topology.size == 1, kSharedMemory);
}
inline constexpr const char* kStreamOrder = "a call in a stream's order";
inline constexpr const char* kCallOrder = "a call that returns when it is done";

// What all calls in a stream's order need of the ranks' devices; others need nothing.
Status plan_order(Plan& plan);
// For rows whose ranks write to (MappedSide::recv), read from (MappedSide::send) or do both with their peers' buffers. Where ranks
// share a device, their launcher does it for all.
Status plan_mapped(Plan& plan, MappedSide side);
// Where a block of this rank's lies in a round: at the program's, or in memory of ours.
std::byte* sent_block(const Plan& plan, const Buffers& buffers, const DeviceRound& round, int number);
std::byte* received_block(const Plan& plan, const Buffers& buffers, const DeviceRound& round, int number);
// The same of any rank whose side this one has mapped.
struct RoundBlock {
  int owner;
  MappedSide side;
  int number;
};
std::byte* block_of(const Plan& plan, const Buffers& buffers, const DeviceRound& round, const RoundBlock& which);
// For the blocks of a round that has been laid out: a kernel moves byte by byte where the two ends of a block are odd to each other:
// copy engines do not care. Each rank may choose for itself.
crossrail_engine engine_for(const Plan& plan, crossrail_engine wanted);
// What moves blocks the longest of which has so many bytes: copy engines from a threshold on, but never within a device, where kernels
// are faster.
crossrail_engine engine_for_length(const Plan& plan, std::uint64_t bytes, std::uint64_t threshold);
// An exchange of all blocks with one engine, which writes them to the peers' receiving sides or reads them from their sending ones.
struct MappedExchange {
  MappedSide side;
  crossrail_engine engine;
};
Status run_mapped(Plan& plan, const Buffers& buffers, const MappedExchange& how);

// Before work in a stream's order, which must begin and end with barriers of the ranks: the plan's sides are mapped by the peers, or the
// call is refused on all ranks.
Status map_for_stream(Plan& plan);

// Sides that are staged: what is sent, brought to memory of ours; what has come, to the program's. The former
// may still be under way on return, in front of what the device is asked next.
Status stage_in(Plan& plan, const Buffers& buffers, const DeviceRound& round, DeviceWork& work);
// Between the two: others find what they read of this rank's memory staged, and what they write over, if they do, taken out.
Status meet_staged(Plan& plan, const DeviceWork& staging, bool written_over);
Status stage_out(Plan& plan, const Buffers& buffers, const DeviceRound& round);

}  // namespace crossrail
