// Collectives on device memory share this code. A round moves as many bytes of every block as fit the staging memory that some side needs. Usually
// there is one round of whole blocks and no staging. An all-to-all's round has its blocks in the order of the IPC paper, section III-A: first the
// rank's own, then rank + 1, rank + 2, ..., so that every device receives from one other device at a time.
//
// In a stream's order there is one round, of memory that peers can map, between two barriers in the streams: at the first, the buffers of all ranks
// are free, and at the second, they are full.
#pragma once

#include <algorithm>
#include <vector>

#include "collectives/algorithm.h"

namespace crossrail {

// Sides are rows of blocks, one for every rank. They have equal lengths, except
// that the last ones are shorter if the total is less, or the lengths of a table.
struct DeviceRound {
  std::size_t from, bytes;       // They describe the part of every block.
  std::size_t block, all;        // They are the bytes of a block and of all blocks.
  const Block* table = nullptr;  // With a table, `block` and `all` do not matter.
  // Returns where a block's part in this round begins in its side.
  std::size_t begin(int number) const {
    const auto at = static_cast<std::size_t>(number);
    return (table != nullptr ? static_cast<std::size_t>(table[at].offset) : at * block) + from;
  }
  // Returns the bytes of a block in this round.
  std::size_t of(int number) const {
    const std::size_t at = table != nullptr ? from : begin(number), end = table != nullptr ? table[number].bytes : all;
    return at >= end ? 0 : std::min(bytes, end - at);
  }
};
// This is for equal blocks.
inline DeviceRound round_of(const Plan& plan, std::size_t from, std::size_t bytes) {
  return {from, bytes, plan.shape.block_bytes, plan.shape.block_bytes * static_cast<std::size_t>(plan.group.size())};
}

// Returns the distance between blocks of a call's side, as the ranks' devices see them. For collectives that reduce a rank's share of the elements,
// it is a multiple of the element and of 16 bytes.
std::size_t device_block_bytes(const Shape& shape, int ranks);

// A rank that is alone needs nothing shared.
inline Fit fit_devices(const Topology& topology) {
  return Fit().needs(topology.one_node(), "all ranks on one node").needs(topology.shared_segment || topology.size == 1, kSharedMemory);
}
inline constexpr const char* kStreamOrder = "a call in a stream's order";
inline constexpr const char* kCallOrder = "a call that returns when it is done";

// This is for rows whose ranks write to (MappedSide::recv) or read from (MappedSide::send) their peers' buffers, or both. If ranks share a device,
// their launcher does it for all of them.
Status plan_mapped(Plan& plan, MappedSide side);
// Returns where a block of this rank's lies in a round: in the program's memory or in staging memory.
std::byte* sent_block(const Plan& plan, const Buffers& buffers, const DeviceRound& round, int number);
std::byte* received_block(const Plan& plan, const Buffers& buffers, const DeviceRound& round, int number);
// Does the same for any rank whose side this one has mapped.
struct RoundBlock {
  int owner;
  MappedSide side;
  int number;
};
std::byte* block_of(const Plan& plan, const Buffers& buffers, const DeviceRound& round, const RoundBlock& which);
// This is for the blocks of a round that has been laid out. If the two ends of a block are aligned differently, a kernel moves it byte by byte, while
// copy engines are as fast as ever. Each rank may choose for itself.
crossrail_engine engine_for(const Plan& plan, crossrail_engine wanted);
// Chooses what moves blocks whose longest has `bytes` bytes: copy engines from a threshold on, but never within a device, where kernels are faster.
crossrail_engine engine_for_length(const Plan& plan, std::uint64_t bytes, std::uint64_t threshold);
// A MappedExchange moves all blocks with one engine, which writes them to the peers' receiving sides or reads them from their sending sides.
struct MappedExchange {
  MappedSide side;
  crossrail_engine engine;
};
Status run_mapped(Plan& plan, const Buffers& buffers, const MappedExchange& how);

// Is called before work in a stream's order, which must begin and end with barriers of the ranks. Afterwards the peers have mapped the plan's sides;
// otherwise the call is refused on all ranks.
Status map_for_stream(Plan& plan);

// Sides that are staged are first copied to staging memory, and what has arrived is copied to the program's memory afterwards. The first copy may
// still be under way on return, ahead of the device's next work.
Status stage_in(Plan& plan, const Buffers& buffers, const DeviceRound& round, DeviceWork& work);
// It comes between the two copies. Afterwards other ranks find this rank's data staged, and if they overwrite memory, it has been copied out.
Status meet_staged(Plan& plan, const DeviceWork& staging, bool written_over);
Status stage_out(Plan& plan, const Buffers& buffers, const DeviceRound& round);

}  // namespace crossrail
