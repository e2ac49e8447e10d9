// What   The root offers the address of its receive buffer; every rank writes its block there with process_vm_writev, all at the same time, and
//        leaves. The root leaves when all have written.
// When   One node, long blocks: one copy instead of two, and not all of them by the root.
// Cost   Two flag latencies + a system call and m copied by every rank.
// Needs  A shared segment, process_vm_writev allowed between the ranks. Who cannot write to the root's memory after all sends its block in
//        chunks through the segment (NodeStreams).
// From   IPC paper, section VI (future work on gather and scatter); Linux process_vm_writev(2).

#include <sched.h>

#include "collectives/node_streams.h"
#include "collectives/rooted.h"

namespace crossrail::gather::node_single_copy {
namespace {

// In its flag of the epoch, a rank says one of these instead of that its block is there: the block comes in chunks, or it is being written.
constexpr std::uint64_t kStreamed = 0x2b67, kBeingWritten = 0x4d95;

Word& said_by(ControlBlock& control, int rank, std::uint64_t epoch) { return control.lines(rank).finished.word[epoch & 1]; }

// After an error, no rank may write into memory that the program has back. A rank says that it is writing before it looks at the offer again.
// Therefore either it sees that the offer is gone, or it is waited for here.
void withdraw_offer(Plan& plan, std::uint64_t epoch) {
  ControlBlock& control = *plan.control;
  const std::uint64_t writes = control.flag(epoch) ^ kBeingWritten;
  control.my_lines().exported[epoch & 1].flag.store(0, std::memory_order_seq_cst);
  for (int peer = 0; peer < plan.group.size(); ++peer) {
    while (said_by(control, peer, epoch).load(std::memory_order_seq_cst) == writes && plan.links->alive(control.rank_of(peer))) sched_yield();
  }
}

Status collect(Plan& plan, const Buffers& buffers, std::uint64_t epoch) {
  ControlBlock& control = *plan.control;
  const std::size_t block = plan.shape.block_bytes;
  const std::uint64_t flag = control.flag(epoch);
  auto& streams = plan.kept<NodeStreams>();
  for (int step = 1; step < plan.group.size(); ++step) {
    const int peer = (plan.group.index() + step) % plan.group.size();
    const Word& its = said_by(control, peer, epoch);
    std::uint64_t said = 0;
    CROSSRAIL_TRY(control.await(peer, [&] {
      said = its.load(std::memory_order_acquire);
      return said == flag || said == (flag ^ kStreamed);
    }));
    if (said != flag) streams.receive(peer, {block_in_row(plan, buffers.recv, peer), nullptr, 0, block});
  }
  return streams.finish(plan);
}

Status run_root(Plan& plan, const Buffers& buffers, std::uint64_t epoch) {
  ControlBlock& control = *plan.control;
  ExportedRange& mine = control.my_lines().exported[epoch & 1];
  mine.address.store(reinterpret_cast<std::uint64_t>(buffers.recv), std::memory_order_relaxed);
  raise_flag(mine.flag, control.flag(epoch));
  copy_own(plan, buffers);
  const Status collected = collect(plan, buffers, epoch);
  if (!collected.ok()) withdraw_offer(plan, epoch);
  if (collected.ok()) control.seen_all(epoch);
  return collected;
}

// `written` says whether the block is in the root's memory; it is false if it could not be written there.
Status write_block(Plan& plan, const Buffers& buffers, std::uint64_t epoch, bool& written) {
  ControlBlock& control = *plan.control;
  const std::uint64_t flag = control.flag(epoch);
  const std::size_t block = plan.shape.block_bytes;
  const ExportedRange& offer = control.lines(plan.shape.root).exported[epoch & 1];
  const auto is_offered = [&] { return offer.flag.load(std::memory_order_seq_cst) == flag; };
  CROSSRAIL_TRY(control.await(plan.shape.root, is_offered));
  said_by(control, plan.group.index(), epoch).store(flag ^ kBeingWritten, std::memory_order_seq_cst);
  if (!is_offered()) return failed(Code::broken, "the root has met an error");
  const std::uint64_t row = offer.address.load(std::memory_order_relaxed);
  const Status status = plan.links->write_peer(plan.shape.root, buffers.send, row + static_cast<std::uint64_t>(plan.group.index()) * block, block);
  written = status.ok();
  return status.code == Code::peer_lost ? status : Status{};
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
  const std::uint64_t epoch = control.next_epoch();
  CROSSRAIL_TRY(control.wait_until_reusable(epoch));
  auto& streams = plan.kept<NodeStreams>();
  streams.begin(control, epoch & 1, NodeStreams::Sides::apart);
  if (is_root(plan)) return run_root(plan, buffers, epoch);
  bool written = false;
  const Status status = write_block(plan, buffers, epoch, written);
  if (status.ok() && !written) streams.send(plan, plan.shape.root, {const_cast<std::byte*>(buffers.send), nullptr, 0, plan.shape.block_bytes});
  raise_flag(said_by(control, plan.group.index(), epoch), !status.ok() ? 0 : written ? control.flag(epoch) : control.flag(epoch) ^ kStreamed);
  return status.ok() ? streams.finish(plan) : status;
}

}  // namespace crossrail::gather::node_single_copy
