// What   p-1 steps; in step s every rank exchanges one block with one partner: rank XOR s where p
//        is a power of two, otherwise to rank+s and from rank-s.
// When   Large blocks on many ranks: never more than one message in flight each way.
// Cost   (p-1)(a + mb).
// Needs  Nothing; in place, a copy of the whole buffer. Parameters: piece (bytes of a long block in one message, 4 MiB; 512 KiB
//        for each of the rank's processes where that is more), processes (of each rank, its helpers among them, that share long messages).
// From   OHIO paper, section III-A (partners of a step) and Table I.

#include <algorithm>

#include "collectives/alltoall/pairwise_devices.h"
#include "collectives/alltoall/send_side.h"
#include "collectives/partners.h"

namespace crossrail::alltoall::pairwise {

Fit fit(const Topology& topology, const Shape& shape) { return fit_send_copy(topology, shape); }

Status plan(Plan& plan) {
  plan.share_with_helpers(plan.parameter(parameters::processes));
  plan.keep(piece_bytes(plan));
  plan_on_devices(plan);
  return plan_messages(plan);
}

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t block = plan.shape.block_bytes;
  const Group group = plan.group;
  const std::size_t piece = plan.kept<std::size_t>();
  const std::byte* send = send_side(plan, buffers);
  copy_own_block(plan, buffers);
  for (int step = 1; step < group.size(); ++step) {
    const auto [to, from] = partners_of(group, step);
    for (std::size_t at = 0; at < block; at += piece) {
      CROSSRAIL_TRY(plan.receive(group[from], buffers.recv + from * block + at, std::min(piece, block - at)));
    }
    for (std::size_t at = 0; at < block; at += piece) {
      CROSSRAIL_TRY(plan.send(group[to], send + to * block + at, std::min(piece, block - at)));
    }
    CROSSRAIL_TRY(plan.links->wait_posted());
  }
  return {};
}

}  // namespace crossrail::alltoall::pairwise
