// Blocks of a v-collective as messages. What is a message is known to both of its ranks without
// asking, because MPI obliges them to agree on its length.
#pragma once

#include <algorithm>

#include "collectives/throttle.h"

namespace crossrail::alltoallv {

inline Status send_block(Plan& plan, const Buffers& buffers, int destination) {
  const Block& block = buffers.out[destination];
  return block.bytes == 0 ? Status{} : plan.send(plan.group[destination], buffers.send + block.offset, block.bytes);
}

inline Status receive_block(Plan& plan, const Buffers& buffers, int source) {
  const Block& block = buffers.in[source];
  return block.bytes == 0 ? Status{} : plan.receive(plan.group[source], buffers.recv + block.offset, block.bytes);
}

inline void copy_own_block(const Plan& plan, const Buffers& buffers) {
  const int index = plan.group.index();
  copy_part(buffers.received_from(index), buffers.sent_to(index));
}

struct Steps {
  int first, end;
};
// Whether the block between this rank and another member of the group is a message; both must answer alike.
using IsMessage = bool (*)(const Plan& plan, int peer, std::size_t bytes);
inline bool every_block(const Plan&, int, std::size_t) { return true; }

// Posts the blocks to member index+s and from index-s, for all s of `steps`.
inline Status post_steps(Plan& plan, const Buffers& buffers, Steps steps, IsMessage is_message) {
  const int index = plan.group.index(), size = plan.group.size();
  for (int step = steps.first; step < steps.end; ++step) {
    const int source = (index - step + size) % size;
    if (is_message(plan, source, buffers.in[source].bytes)) CROSSRAIL_TRY(receive_block(plan, buffers, source));
  }
  for (int step = steps.first; step < steps.end; ++step) {
    const int destination = (index + step) % size;
    if (is_message(plan, destination, buffers.out[destination].bytes)) CROSSRAIL_TRY(send_block(plan, buffers, destination));
  }
  return {};
}

// Waits for the first `throttle` steps, which have been posted, and goes through the others.
inline Status finish_steps(Plan& plan, const Buffers& buffers, int throttle, IsMessage is_message) {
  const int size = plan.group.size();
  CROSSRAIL_TRY(plan.links->wait_posted());
  for (int first = 1 + throttle; first < size; first += throttle) {
    CROSSRAIL_TRY(post_steps(plan, buffers, {first, std::min(first + throttle, size)}, is_message));
    CROSSRAIL_TRY(plan.links->wait_posted());
  }
  return {};
}

}  // namespace crossrail::alltoallv
