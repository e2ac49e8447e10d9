// What   This is reduce_scatter_block_device/ipc_pull with blocks of any lengths: a kernel on every device reads this rank's block from all ranks
//        where they lie, combines them in the order of the ranks, and writes the result.
// When   One node, any number of elements.
// Cost   One meeting of processors + one kernel launch + m(p-1) bytes into the device with the longest block.
// Needs  What is sent in device memory that peers can map; else, in place and where elements have gaps, memory of ours on the way, in rounds
//        where CROSSRAIL_DEVICE_SCRATCH is less; in place one round, since results are written over what later ones would read.
// From   As allreduce_device/two_shot_pull.

#include <algorithm>

#include "collectives/reduce_scatter_block_device/ipc_pull.h"

namespace crossrail::reduce_scatter_device::ipc_pull {
namespace {

bool some_rank_in_place(const Plan& plan) {
  for (int rank = 0; rank < plan.group.size(); ++rank) {
    if (plan.devices->in_place(rank)) return true;
  }
  return false;
}

}  // namespace

Fit fit(const Topology& topology, const Shape& shape) {
  return allreduce_device::fit_combining(topology, shape).needs(shape.order == Order::call, kCallOrder);
}

Status plan(Plan& plan) { return reduce_scatter_block_device::plan_pull(plan); }

Status run(Plan& plan, const Buffers& buffers) {
  const std::size_t longest = plan.devices->longest();
  CROSSRAIL_TRY(plan.devices->map_peers(plan.mapped));
  const std::size_t step = reduce_scatter_block_device::bytes_a_round(plan, longest);
  if (step == 0) return failed(Code::unsupported, reduce_scatter_block_device::kNoRoomForElement);
  if (step < longest && some_rank_in_place(plan)) return failed(Code::unsupported, "no room to stage everything that is sent in place");
  for (std::size_t from = 0; from < longest; from += step) {
    CROSSRAIL_TRY(reduce_scatter_block_device::run_round(plan, buffers, {from, std::min(step, longest - from), 0, 0, buffers.out}));
  }
  return {};
}

}  // namespace crossrail::reduce_scatter_device::ipc_pull
