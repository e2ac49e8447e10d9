// A node's part of pairwise, of alltoall and alltoallv: a kernel writes the blocks for this node's ranks where they go, over the links between
// the devices, while the others travel by way of memory of ours (MessageRoom): those of several steps, or a piece of a long one, at a time;
// one portion is brought there while the one before is sent and what came before that goes to the device.
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
  static constexpr std::size_t kUnit = 16;  // bytes, to which blocks in the room are rounded
  std::size_t piece;       // the most of a block in one message
  std::size_t at_a_time;   // bytes of a portion
  std::size_t most_blocks;  // of a portion, one way
  std::vector<std::size_t>* came;  // from every member, of blocks that may be shorter than expected; null: they all are as long
};

// `run` maps what the plan maps and calls run_pairwise_on_devices, whose buffers have a Block for every member.
void plan_pairwise_on_devices(Plan& plan, const PairwisePieces& pieces, Status (*run)(Plan&, const Buffers&));
Status run_pairwise_on_devices(Plan& plan, const Buffers& buffers, const PairwisePieces& pieces);

}  // namespace crossrail
