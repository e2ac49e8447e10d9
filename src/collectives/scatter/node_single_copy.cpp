// What   The root offers the address of its send buffer; every rank reads its block from there with process_vm_readv, all at the same time. The
//        root leaves when all have read.
// When   One node, long blocks: one copy instead of two, and not all of them by the root.
// Cost   Two flag latencies + a system call and m copied by every rank.
// Needs  A shared segment, process_vm_readv allowed between the ranks; a copy of the whole buffer for memory that a device driver has mapped.
//        A rank that turns out not to be able to read asks for its block, which comes in chunks through the segment (NodeStreams).
// From   IPC paper, section VI (future work on gather and scatter); Linux process_vm_readv(2).

#include "collectives/node_streams.h"
#include "collectives/rooted.h"

namespace crossrail::scatter::node_single_copy {
namespace {

Status run_root(Plan& plan, const Buffers& buffers, std::uint64_t epoch) {
  ControlBlock& control = *plan.control;
  const std::size_t block = plan.shape.block_bytes;
  const int size = plan.group.size();
  const std::uint64_t flag = control.flag(epoch);
  auto& streams = plan.kept<NodeStreams>();
  std::uint64_t offered = 0;
  CROSSRAIL_TRY(plan.links->export_range(buffers.send, block * static_cast<std::size_t>(size), offered));
  for (int step = 1; step < size; ++step) {
    const int peer = (plan.group.index() + step) % size;
    streams.offer(peer, buffers.sent(static_cast<std::size_t>(peer) * block, block));
  }
  ExportedRange& mine = control.my_lines().exported[epoch & 1];
  mine.address.store(offered, std::memory_order_relaxed);
  raise_flag(mine.flag, flag);
  copy_own(plan, buffers);
  const auto has_read = [&](int peer) { return control.lines(peer).finished.word[epoch & 1].load(std::memory_order_acquire) == flag; };
  CROSSRAIL_TRY(streams.serve(plan, has_read));
  control.seen_all(epoch);
  return {};
}

}  // namespace

Fit fit(const Topology& topology, const Shape&) { return fit_single_copy(topology).planned(Planning::alone); }

Status plan(Plan& plan) {
  plan.serve(0, Plan::kAnySize);
  return plan.keep(NodeStreams()).plan(plan);
}

Status run(Plan& plan, const Buffers& buffers) {
  if (plan.shape.block_bytes == 0) return {};
  ControlBlock& control = *plan.control;
  const int root = plan.shape.root;
  const std::size_t block = plan.shape.block_bytes;
  const std::uint64_t epoch = control.next_epoch(), flag = control.flag(epoch);
  CROSSRAIL_TRY(control.wait_until_reusable(epoch));
  auto& streams = plan.kept<NodeStreams>();
  streams.begin(control, epoch & 1, NodeStreams::Sides::apart);
  if (is_root(plan)) return run_root(plan, buffers, epoch);
  const ExportedRange& offer = control.lines(root).exported[epoch & 1];
  CROSSRAIL_TRY(control.await(root, [&] { return offer.flag.load(std::memory_order_acquire) == flag; }));
  const std::uint64_t row = offer.address.load(std::memory_order_relaxed);
  CROSSRAIL_TRY(streams.fetch(*plan.links, root, {buffers.recv, nullptr, 0, block}, row + static_cast<std::uint64_t>(plan.group.index()) * block));
  CROSSRAIL_TRY(streams.finish(plan));
  raise_flag(control.my_lines().finished.word[epoch & 1], flag);
  return {};
}

}  // namespace crossrail::scatter::node_single_copy
