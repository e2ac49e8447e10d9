// The sequence counters of the control block say how far a rank has come in an epoch. transport/control_block.h explains how to wait for them.
#pragma once

#include "transport/control_block.h"

namespace crossrail {

enum Counter : int {
  fetched,  // In a single copy of a v-collective, the rank has read what it needed from the others.
  counted,  // The counts of a v-collective are in the node's memory.
  filled,   // The blocks are in the node's memory.
  arrived,  // What other nodes sent in this step is in the node's memory.
  copied,   // The rank has copied its blocks of this step.
  reduced   // The rank's share of the result is in the node's memory.
};
static_assert(reduced < RankLines::kCounters);

}  // namespace crossrail
