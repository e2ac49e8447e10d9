// What   Every rank offers the address of its send buffer, reads its block from every other rank's
//        buffer with process_vm_readv, and leaves when all have finished reading.
// When   One node, large blocks: one copy instead of two, no scratch.
// Cost   Two flag latencies + (p-1)(system call + m copied).
// Needs  A shared segment, process_vm_readv allowed between the ranks; a copy of the whole buffer for
//        memory that a device driver has mapped. A rank whose blocks have gaps, and all in place, send
//        theirs in chunks through the segment instead (NodeStreams); so come those that cannot be read after all.
// From   OHIO paper, section VII (kernel-assisted future work); Linux process_vm_readv(2).

#include "collectives/alltoall/send_side.h"
#include "collectives/node_streams.h"

namespace crossrail::alltoall::node_single_copy {
namespace {

// A rank offers it instead of an address if its blocks come in chunks.
constexpr std::uint64_t kStreamed = ~std::uint64_t{0};

Status offer(Plan& plan, const Buffers& buffers, NodeStreams& streams, std::uint64_t& offered) {
  const std::size_t block = plan.shape.block_bytes;
  const bool apart = !plan.shape.in_place && buffers.send_gaps == nullptr;
  offered = kStreamed;
  if (apart) CROSSRAIL_TRY(plan.links->export_range(buffers.send, block * static_cast<std::size_t>(plan.group.size()), offered));
  for (int step = 1; step < plan.group.size(); ++step) {
    const int peer = (plan.group.index() + step) % plan.group.size();
    const Part part = buffers.sent(static_cast<std::size_t>(peer) * block, block);
    if (apart) {
      streams.offer(peer, part);
    } else {
      streams.send(plan, peer, part);
    }
  }
  return {};
}

}  // namespace

Fit fit(const Topology& topology, const Shape&) { return fit_single_copy(topology).planned(Planning::alone); }

Status plan(Plan& plan) {
  plan.as_they_lie = Plan::AsTheyLie::all;
  plan.serve(0, Plan::kAnySize);
  return plan.keep(NodeStreams()).plan(plan);
}

Status run(Plan& plan, const Buffers& buffers) {
  ControlBlock& control = *plan.control;
  const std::size_t block = plan.shape.block_bytes;
  const int rank = plan.group.index();
  const int size = plan.group.size();
  const std::uint64_t epoch = control.next_epoch();
  const std::uint64_t flag = control.flag(epoch);
  CROSSRAIL_TRY(control.wait_until_reusable(epoch));
  auto& streams = plan.kept<NodeStreams>();
  streams.begin(control, epoch & 1, plan.shape.in_place ? NodeStreams::Sides::in_place : NodeStreams::Sides::apart);
  std::uint64_t offered = 0;
  CROSSRAIL_TRY(offer(plan, buffers, streams, offered));
  ExportedRange& mine = control.my_lines().exported[epoch & 1];
  mine.address.store(offered, std::memory_order_relaxed);
  raise_flag(mine.flag, flag);
  for (int step = 1; step < size; ++step) {
    const int peer = (rank + step) % size;
    const ExportedRange& offer = control.lines(peer).exported[epoch & 1];
    CROSSRAIL_TRY(control.await(peer, [&] { return offer.flag.load(std::memory_order_acquire) == flag; }));
    const std::uint64_t address = offer.address.load(std::memory_order_relaxed);
    const Part part = buffers.received(peer * block, block);
    if (address == kStreamed) {
      streams.receive(peer, part);
    } else {
      CROSSRAIL_TRY(streams.fetch(*plan.links, peer, part, address + rank * block));
    }
  }
  copy_own_block(plan, buffers);
  CROSSRAIL_TRY(streams.finish(plan));
  raise_flag(control.my_lines().finished.word[epoch & 1], flag);
  const auto has_read = [&](int peer) { return control.lines(peer).finished.word[epoch & 1].load(std::memory_order_acquire) == flag; };
  CROSSRAIL_TRY(streams.serve(plan, has_read));
  for (int step = 1; step < size; ++step) {
    const int peer = (rank + step) % size;
    CROSSRAIL_TRY(control.await(peer, [&] { return has_read(peer); }));
  }
  control.seen_all(epoch);
  return {};
}

}  // namespace crossrail::alltoall::node_single_copy
