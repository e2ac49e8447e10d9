// This is the receiving half of NodeRows.

#include <algorithm>

#include "collectives/node_rows.h"
#include "collectives/packets.h"

namespace crossrail {
namespace {

constexpr unsigned kLooksAQuestion = 256;

}  // namespace

// Returns the form in which `peer` has stored this rank's block of `bytes`, or none if it has not done so yet.
NodeRows::Form NodeRows::form_of(ControlBlock& control, int peer, std::size_t bytes) const {
  const auto place = static_cast<std::size_t>(control.node_rank());
  const std::uint64_t slot = slots_of(control, peer)[place].flag.load(std::memory_order_acquire);
  if (slot == slot_flag()) return Form::slot;
  const bool in_packets = bytes * ranks_ <= packet_bytes_;
  const std::uint64_t uniform = in_packets ? stream_of(control, peer)[place * bytes / Packet::kPayloadBytes].flag.load(std::memory_order_acquire)
                                           : control.lines(peer).staged.word[epoch_ & 1].load(std::memory_order_acquire);
  if (uniform == uniform_flag(bytes)) return in_packets ? Form::uniform_packets : Form::uniform_bulk;
  return Form::none;
}

// Looks once more, for a peer that may not send what is expected: it has announced what it has sent.
NodeRows::Form NodeRows::look_for(ControlBlock& control, int peer, std::size_t bytes) const {
  const std::uint64_t said = control.lines(peer).seldom.row.flag[epoch_ & 1].load(std::memory_order_acquire);
  const Form form = form_of(control, peer, bytes);
  if (form != Form::none) return form;
  return said == flag_ || (!rooted_ && ControlBlock::epoch_of(said) > epoch_) ? Form::unlike : Form::none;
}

Status NodeRows::fetch_slot(Plan& plan, const Buffers& buffers, int peer) {
  ControlBlock& control = *plan.control;
  Part to = buffers.received_from(rank_of_[peer]);
  const auto& slot = *reinterpret_cast<const Slot*>(slots_of(control, peer)[control.node_rank()].payload);
  if (slot.bytes > to.bytes) {
    return failure(Code::mismatch, "rank %d sends %llu bytes, rank %d expects %zu", rank_of_[peer],
                   static_cast<unsigned long long>(slot.bytes), plan.topology->rank, to.bytes);
  }
  to.bytes = slot.bytes;
  buffers.came_from(rank_of_[peer], slot.bytes);
  if (slot.place == kStreamed) {
    streams_.receive(peer, to);
    return {};
  }
  if (to.bytes > longest_) return streams_.fetch(*plan.links, peer, to, slot.place);
  const std::size_t first = std::min(to.bytes, kInlineBytes);
  to.put(slot.data, 0, first);
  if (to.bytes > first) to.put(control.bulk(epoch_ & 1, peer) + slot.place, first, to.bytes - first);
  return {};
}

// Fetches from a peer whose blocks all have the length of `to`.
Status NodeRows::fetch_uniform(ControlBlock& control, int peer, const Part& to) const {
  const std::size_t at = static_cast<std::size_t>(control.node_rank()) * to.bytes;
  if (to.bytes * ranks_ <= packet_bytes_) return read_packets(control, uniform_flag(to.bytes), {peer, stream_of(control, peer), at, to.bytes}, to);
  to.put(control.bulk(epoch_ & 1, peer) + at, 0, to.bytes);
  return {};
}

// The peer sends fewer bytes than expected, perhaps none. In the latter case it may have gone on meanwhile.
Status NodeRows::fetch_unlike(Plan& plan, const Buffers& buffers, int peer) {
  ControlBlock& control = *plan.control;
  const SeldomRead::RowForm& form = control.lines(peer).seldom.row;
  const std::uint64_t bytes = form.bytes[epoch_ & 1].load(std::memory_order_acquire);
  if (form.flag[epoch_ & 1].load(std::memory_order_acquire) != flag_ || bytes == kUnequal || bytes == 0) {
    buffers.came_from(rank_of_[peer], 0);
    return {};
  }
  Part to = buffers.received_from(rank_of_[peer]);
  if (bytes > to.bytes) {
    return failure(Code::mismatch, "rank %d sends %llu bytes, rank %d expects %zu", rank_of_[peer],
                   static_cast<unsigned long long>(bytes), plan.topology->rank, to.bytes);
  }
  to.bytes = bytes;
  buffers.came_from(rank_of_[peer], bytes);
  return fetch_uniform(control, peer, to);
}

Status NodeRows::fetch_from(Plan& plan, const Buffers& buffers, int peer) {
  ControlBlock& control = *plan.control;
  const Part to = buffers.received_from(rank_of_[peer]);
  Form form = Form::none;
  unsigned looks = 0;
  CROSSRAIL_TRY(control.await(peer, [&] {
    form = ++looks % kLooksAQuestion == 0 || control.in_doubt() ? look_for(control, peer, to.bytes) : form_of(control, peer, to.bytes);
    return form != Form::none;
  }));
  if (form == Form::unlike) return fetch_unlike(plan, buffers, peer);
  control.seen(peer, epoch_);
  return form == Form::slot ? fetch_slot(plan, buffers, peer) : fetch_uniform(control, peer, to);
}

// Copies from a stream of packets of equal blocks. Returns false if one of the packets is missing; `block` may then be partly written.
bool NodeRows::copy_if_there(const Packet* stream, std::size_t at, const Block& block, std::byte* recv) const {
  const std::uint64_t flag = uniform_flag(block.bytes);
  const Packet* packet = stream + at / Packet::kPayloadBytes;
  std::size_t skip = at % Packet::kPayloadBytes, left = block.bytes;
  std::byte* to = recv + block.offset;
  for (;; ++packet, skip = 0) {
    if (packet->flag.load(std::memory_order_acquire) != flag) return false;
    const std::size_t part = std::min(Packet::kPayloadBytes - skip, left);
    copy_block(to, packet->payload + skip, part);
    to += part;
    left -= part;
    if (left == 0) return true;
  }
}

Status NodeRows::fetch(Plan& plan, const Buffers& buffers) {
  ControlBlock& control = *plan.control;
  const int* const rank_of = rank_of_.data();
  const int ranks = control.node_size();
  const auto mine = static_cast<std::size_t>(control.node_rank());
  for (int step = 1; step < ranks; ++step) {
    const int peer = static_cast<int>(mine) + step < ranks ? static_cast<int>(mine) + step : static_cast<int>(mine) + step - ranks;
    const Block& block = buffers.in[rank_of[peer]];
    if (block.bytes == 0) continue;
    // The block is usually there already.
    if (block.layout == nullptr && block.bytes * ranks_ <= packet_bytes_ && copy_if_there(stream_of(control, peer), mine * block.bytes, block, buffers.recv)) {
      control.seen(peer, epoch_);
      continue;
    }
    CROSSRAIL_TRY(fetch_from(plan, buffers, peer));
  }
  CROSSRAIL_TRY(streams_.finish(plan));
  control.post(fetched, epoch_);
  return offered_ ? await_readers(plan) : Status{};
}

Status NodeRows::await_readers(Plan& plan) {
  ControlBlock& control = *plan.control;
  CROSSRAIL_TRY(streams_.serve(plan, [&](int peer) { return control.has_come(peer, fetched, epoch_); }));
  for (int step = 1; step < control.node_size(); ++step) {
    const int peer = (control.node_rank() + step) % control.node_size();
    if (readers_[epoch_ & 1][static_cast<std::size_t>(peer)] != 0) CROSSRAIL_TRY(control.wait(peer, fetched, epoch_));
  }
  return {};
}

}  // namespace crossrail
