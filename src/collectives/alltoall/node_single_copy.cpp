// What   Every rank offers the address of its send buffer, reads its block from every other rank's
//        buffer with process_vm_readv, and leaves when all have finished reading.
// When   One node, large blocks: one copy instead of two, no scratch.
// Cost   Two flag latencies + (p-1)(system call + m copied).
// Needs  A shared segment, process_vm_readv allowed between the ranks; a copy of the whole buffer
//        in place, and for memory that a device driver has mapped.
// From   OHIO paper, section VII (kernel-assisted future work); Linux process_vm_readv(2).

#include "collectives/alltoall/send_side.h"

namespace crossrail::alltoall::node_single_copy {

bool fits(const Topology& topology, const Shape& shape) {
  return topology.one_node() && topology.shared_segment && topology.single_copy && send_copy_fits(topology, shape);
}

Status plan(Plan& plan) { return reserve_send_copy(plan); }

Status run(Plan& plan, const Buffers& buffers) {
  ControlBlock& control = *plan.control;
  const std::size_t block = plan.shape.block_bytes;
  const int rank = plan.group.index();
  const int size = plan.group.size();
  const std::uint64_t epoch = control.next_epoch();
  const std::uint64_t flag = control.flag(epoch);
  CROSSRAIL_TRY(control.wait_until_reusable(epoch));
  std::uint64_t offered = 0;
  CROSSRAIL_TRY(plan.links->export_range(send_side(plan, buffers), block * size, offered));
  ExportedRange& mine = control.my_lines().exported[epoch & 1];
  mine.address.store(offered, std::memory_order_relaxed);
  mine.flag.store(flag, std::memory_order_release);
  for (int step = 1; step < size; ++step) {
    const int peer = (rank + step) % size;
    const ExportedRange& offer = control.lines(peer).exported[epoch & 1];
    CROSSRAIL_TRY(control.await(peer, [&] { return offer.flag.load(std::memory_order_acquire) == flag; }));
    const std::uint64_t address = offer.address.load(std::memory_order_relaxed) + rank * block;
    CROSSRAIL_TRY(plan.links->read_peer(plan.group[peer], buffers.recv + peer * block, address, block));
  }
  copy_own_block(plan, buffers);
  control.my_lines().finished.word[epoch & 1].store(flag, std::memory_order_release);
  for (int step = 1; step < size; ++step) {
    const int peer = (rank + step) % size;
    const Word& finished = control.lines(peer).finished.word[epoch & 1];
    CROSSRAIL_TRY(control.await(peer, [&] { return finished.load(std::memory_order_acquire) == flag; }));
  }
  control.seen_all(epoch);
  return {};
}

}  // namespace crossrail::alltoall::node_single_copy
