// What   p-1 steps; in step s every rank exchanges one block with one partner: rank XOR s where p
//        is a power of two, otherwise to rank+s and from rank-s. Empty blocks are no messages.
// When   Large blocks on many ranks: never more than one message in flight each way.
// Cost   At most (p-1)a, and every rank's bytes.
// Needs  Nothing. Parameters: piece (bytes of a long block in one message, 4 MiB; 512 KiB for each of the rank's processes where that is more),
//        processes (of each rank, its helpers among them, that share long messages).
// From   OHIO paper, section III-A (partners of a step) and Table I.

#include <algorithm>

#include "collectives/alltoallv/messages.h"
#include "collectives/alltoallv/pairwise_devices.h"
#include "collectives/partners.h"

namespace crossrail::alltoallv::pairwise {

bool fits(const Topology&, const Shape&) { return true; }

Status plan(Plan& plan) {
  plan.let_couriers_help(plan.parameter(parameters::processes));
  plan.keep(piece_bytes(plan));
  plan_on_devices(plan);
  return plan.links->open_messages();
}

Status run(Plan& plan, const Buffers& buffers) {
  const Group group = plan.group;
  const std::size_t piece = plan.kept<std::size_t>();
  copy_own_block(plan, buffers);
  for (int step = 1; step < group.size(); ++step) {
    const auto [to, from] = partners_of(group, step);
    const Block &in = buffers.in[from], &out = buffers.out[to];
    for (std::size_t at = 0; at < in.bytes; at += piece) {
      CROSSRAIL_TRY(plan.receive(group[from], moved(buffers.recv, in.offset) + at, std::min(piece, in.bytes - at)));
    }
    for (std::size_t at = 0; at < out.bytes; at += piece) {
      CROSSRAIL_TRY(plan.send(group[to], moved(const_cast<std::byte*>(buffers.send), out.offset) + at, std::min(piece, out.bytes - at)));
    }
    CROSSRAIL_TRY(plan.links->wait_posted());
  }
  return {};
}

}  // namespace crossrail::alltoallv::pairwise
