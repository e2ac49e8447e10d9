// This is a node's part of pairwise, of alltoall and alltoallv. A kernel writes the blocks for this node's ranks to their destination over the links
// between the devices. Meanwhile the other blocks travel through memory of ours (MessageRoom): those of several steps, or a piece of a long one, at a
// time. While one portion is copied there, the one before is sent, and what arrived before that goes to the device.
//
// When   All ranks of the node have their blocks in device memory that they can map for each other. Other nodes need not know.
// Cost   The larger of what the network takes and what the links take + two kernel launches and copies of the first and the last
//        piece. Empty blocks cost nothing.
// Needs  Three times two portions of memory. Not in place, no gaps.
// From   IPC paper, sections III-B and III-C: messages between nodes are posted first, the exchange inside the node goes on meanwhile.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/algorithm.h"

namespace crossrail {

struct PairwisePieces {
  static constexpr std::size_t kUnit = 16;  // Blocks in the room are rounded to so many bytes.
  std::size_t piece;       // No message takes more of a block.
  std::size_t at_a_time;   // It is the size of a portion.
  std::size_t most_blocks;  // A portion has no more blocks in one direction.
  std::vector<std::size_t>* came;  // It counts what has arrived from every member if blocks may be shorter than expected; it is null if none may.
};

// `run` maps the plan's memory and calls run_pairwise_on_devices, whose buffers have a Block for every member.
void plan_pairwise_on_devices(Plan& plan, const PairwisePieces& pieces, Status (*run)(Plan&, const Buffers&));
Status run_pairwise_on_devices(Plan& plan, const Buffers& buffers, const PairwisePieces& pieces);

}  // namespace crossrail
