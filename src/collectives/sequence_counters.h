// What the sequence counters of the control block mean to the algorithms: how far a rank has come in an
// epoch. Waiting for them is explained in transport/control_block.h.
#pragma once

#include "transport/control_block.h"

namespace crossrail {

enum Counter : int {
  fetched,  // single copy of a v-collective: has read what it needed from the others
  counted,  // the counts of a v-collective are in the node's memory
  filled,   // the blocks are in the node's memory
  arrived,  // what other nodes sent in this step is in the node's memory
  copied,   // has copied its blocks of this step
  reduced   // its share of the result is in the node's memory
};
static_assert(reduced < RankLines::kCounters);

}  // namespace crossrail
