// This is the code of allgather/ring and allgatherv/ring.
#pragma once

#include "collectives/allgather/own_block.h"

namespace crossrail::allgather {

template <class Blocks>
Status run_ring(Plan& plan, const Gathering<Blocks>& gathering) {
  const Blocks& blocks = gathering.received;
  const Group group = plan.group;
  const int index = gathering.index, size = group.size();
  gathering.copy_own(0, blocks.bytes(index));
  for (int step = 0; step < size - 1; ++step) {
    const int sent = (index - step + size) % size, got = (sent - 1 + size) % size;
    if (!Blocks::is_empty(blocks.bytes(got))) CROSSRAIL_TRY(plan.receive(group[(index - 1 + size) % size], blocks.at(got), blocks.bytes(got)));
    if (!Blocks::is_empty(blocks.bytes(sent))) CROSSRAIL_TRY(plan.send(group[(index + 1) % size], blocks.at(sent), blocks.bytes(sent)));
    CROSSRAIL_TRY(plan.links->wait_posted());
  }
  return {};
}

}  // namespace crossrail::allgather
