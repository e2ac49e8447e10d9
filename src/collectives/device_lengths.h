// These functions check the lengths of the blocks of a v-call, which the ranks of a node have told each other.
#pragma once

#include <vector>

#include "comm/plan.h"

namespace crossrail {

// Both ranks of a pair of this node notice if one sends more than the other has room for, and so does the rank that moves the block. `launched` are
// the ranks whose blocks this rank moves, `node` holds the node's ranks, and `sent_by(sender, receiver)` returns bytes.
template <class Sent>
Status check_lengths(const DeviceSharing& devices, const Group& node, Sent sent_by, const std::vector<int>& launched) {
  const auto check = [&](int sender, int receiver) -> Status {
    const std::uint64_t bytes = sent_by(sender, receiver), room = devices.place(receiver, sender).received;
    if (bytes <= room) return {};
    return failure(Code::mismatch, "rank %d sends %llu bytes to rank %d, which has room for %llu", node[sender], static_cast<unsigned long long>(bytes),
                   node[receiver], static_cast<unsigned long long>(room));
  };
  const int mine = node.index();
  for (int peer = 0; peer < node.size(); ++peer) {
    CROSSRAIL_TRY(check(peer, mine));
    CROSSRAIL_TRY(check(mine, peer));
    for (const int sender : launched) CROSSRAIL_TRY(check(sender, peer));
  }
  return {};
}
inline Status check_lengths(const DeviceSharing& devices, const Group& node) {
  return check_lengths(devices, node, [&](int sender, int receiver) { return devices.place(sender, receiver).sent; }, {});
}

}  // namespace crossrail
