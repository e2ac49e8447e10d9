// What   Every rank hangs out the address of its send buffer, reads its block from every other
//        rank's buffer with process_vm_readv, and leaves when all have finished reading.
// When   One node, large blocks: one copy instead of two, no scratch.
// Cost   Two flag latencies + (p-1)(system call + m copied).
// Needs  A shared segment, process_vm_readv allowed between the ranks; not in place.
// From   OHIO paper, section VII (kernel-assisted future work); Linux process_vm_readv(2).

#include "collectives/algorithm.h"

namespace crossrail::alltoall::node_single_copy {

bool fits(const Topology& topology, const Shape& shape) {
  return topology.one_node() && topology.shared_segment && topology.single_copy && !shape.in_place;
}

Status plan(Plan&) { return {}; }

Status run(Plan& plan, const Buffers& buffers) {
  NodeBoard& board = *plan.board;
  const std::size_t block = plan.shape.block_bytes;
  const int rank = plan.topology->rank;
  const int size = plan.topology->size;
  const std::uint64_t call = board.call();
  const std::uint64_t shape = board.shape_hash();
  for (int step = 1; step < size; ++step) {
    const int peer = (rank + step) % size;
    const Door& door = board.lines(peer).door[call & 1];
    CROSSRAIL_TRY(board.await(peer, [&] {
      return door.call.load(std::memory_order_acquire) == call && door.shape.load(std::memory_order_relaxed) == shape;
    }));
    const std::uint64_t send = door.address.load(std::memory_order_relaxed);
    CROSSRAIL_TRY(plan.links->read_peer(peer, buffers.recv + peer * block, send + rank * block, block));
  }
  std::memcpy(buffers.recv + rank * block, buffers.send + rank * block, block);
  board.my_lines().finished.word[call & 1].store(call, std::memory_order_release);
  for (int step = 1; step < size; ++step) {
    const int peer = (rank + step) % size;
    const Word& finished = board.lines(peer).finished.word[call & 1];
    CROSSRAIL_TRY(board.await(peer, [&] { return finished.load(std::memory_order_acquire) == call; }));
  }
  return {};
}

}  // namespace crossrail::alltoall::node_single_copy
