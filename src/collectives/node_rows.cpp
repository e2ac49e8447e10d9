#include "collectives/node_rows.h"

#include <algorithm>

#include "collectives/packets.h"
#include "collectives/parameters.h"

namespace crossrail {
namespace {

std::size_t packets_for(std::size_t bytes) { return (bytes + Packet::kPayloadBytes - 1) / Packet::kPayloadBytes; }

// Writes a stream of packets piece by piece.
class PacketWriter {
 public:
  PacketWriter(Packet* first, std::uint64_t flag) : packet_(first), flag_(flag) {}
  void write(const Part& from) {
    for (std::size_t done = 0; done < from.bytes;) {
      const std::size_t part = std::min(Packet::kPayloadBytes - at_, from.bytes - done);
      from.take(packet_->payload + at_, done, part);
      done += part;
      advance(part);
    }
  }
  void skip(std::size_t bytes) {
    while (bytes > 0) {
      const std::size_t part = std::min(Packet::kPayloadBytes - at_, bytes);
      bytes -= part;
      advance(part);
    }
  }
  void finish() {
    if (at_ > 0) advance(Packet::kPayloadBytes - at_);
  }

 private:
  void advance(std::size_t bytes) {
    at_ += bytes;
    if (at_ < Packet::kPayloadBytes) return;
    raise_flag(packet_->flag, flag_);
    ++packet_;
    at_ = 0;
  }
  Packet* packet_;
  std::uint64_t flag_;
  std::size_t at_ = 0;
};

}  // namespace

Status NodeRows::plan(const Plan& plan) {
  const ControlBlockLayout& layout = plan.control->layout();
  ranks_ = static_cast<std::size_t>(layout.node_size);
  rank_of_.clear();
  for (const int rank : plan.topology->node_ranks()) rank_of_.push_back(rank);
  if (layout.packet_count <= ranks_) return failed(Code::no_memory, "the node's segment has no room for one packet per rank");
  packet_bytes_ = std::min<std::size_t>(plan.parameter(parameters::packet), (layout.packet_count - ranks_ - 1) * Packet::kPayloadBytes);
  // The stride is odd so that the packets of different ranks begin in different sets of the caches.
  stride_ = std::min((ranks_ + packets_for(packet_bytes_)) | 1, layout.packet_count);
  longest_ = std::min<std::size_t>(NodeStreams::share_bytes(layout), plan.parameter(parameters::direct));
  rooted_ = is_rooted(plan.shape.collective);
  readers_[0].assign(ranks_, 0);
  readers_[1].assign(ranks_, 0);
  return streams_.plan(plan);
}

NodeRows::Row NodeRows::measure(const Plan& plan, const Buffers& buffers) {
  const int mine = plan.control->node_rank();
  const int* const rank_of = rank_of_.data();
  std::uint8_t* const readers = readers_[epoch_ & 1].data();
  Row row;
  row.bytes = buffers.out[rank_of[mine == 0 && ranks_ > 1 ? 1 : 0]].bytes;
  std::size_t unequal = 0, longest = 0;
  std::ptrdiff_t misplaced = 0, expected = buffers.out[rank_of[0]].offset;
  for (int peer = 0; peer < static_cast<int>(ranks_); ++peer) {
    const Block& block = buffers.out[rank_of[peer]];
    misplaced |= block.offset ^ expected;
    expected += static_cast<std::ptrdiff_t>(row.bytes);
    const std::size_t bytes = peer == mine ? 0 : block.bytes;
    readers[peer] = bytes > 0;
    row.total += bytes > longest_ ? 0 : bytes;
    row.gaps |= block.layout != nullptr;
    row.offers |= bytes > longest_ && offered(plan, buffers, block);
    longest = std::max(longest, bytes);
    unequal |= peer == mine ? 0 : bytes ^ row.bytes;
  }
  row.has_long = longest > longest_;
  row.uniform = unequal == 0 && !row.has_long;
  row.in_order = row.uniform && !row.gaps && misplaced == 0 && buffers.out[rank_of[mine]].bytes == row.bytes;
  return row;
}

// What this rank says of a block stays for its receiver, even if the block is empty. Otherwise a rank that waits for it might find a later call's.
void NodeRows::keep_for_root(const Plan& plan) {
  auto& readers = readers_[epoch_ & 1];
  const bool is_root = plan.topology->rank == plan.shape.root;
  for (std::size_t peer = 0; peer < ranks_; ++peer) {
    readers[peer] = root_sends(plan.shape.collective) ? is_root : !is_root && rank_of_[peer] == plan.shape.root;
  }
}

// Long blocks are read where they lie, so one span from the first to the last of them is exported.
Status NodeRows::offer_long(Plan& plan, const Buffers& buffers, Row& row) {
  ControlBlock& control = *plan.control;
  std::ptrdiff_t begin = 0, end = 0;
  bool first = true;
  for (const int rank : rank_of_) {
    const Block& block = buffers.out[rank];
    if (!offered(plan, buffers, block) || rank == rank_of_[control.node_rank()]) continue;
    begin = first ? block.offset : std::min(begin, block.offset);
    const std::ptrdiff_t its_end = block.offset + static_cast<std::ptrdiff_t>(block.bytes);
    end = first ? its_end : std::max(end, its_end);
    first = false;
  }
  CROSSRAIL_TRY(plan.links->export_range(buffers.send + begin, static_cast<std::size_t>(end - begin), row.base));
  row.base -= static_cast<std::uint64_t>(begin);
  return {};
}

void NodeRows::write_uniform_packets(Plan& plan, const Buffers& buffers, const Row& row) {
  ControlBlock& control = *plan.control;
  Packet* const stream = stream_of(control, control.node_rank());
  plan.last.staged_bytes += row.total;
  if (row.in_order) {
    write_packets(stream, uniform_flag(row.bytes), buffers.send + buffers.out[rank_of_[0]].offset, row.bytes * ranks_);
    return;
  }
  PacketWriter writer(stream, uniform_flag(row.bytes));
  for (int peer = 0; peer < control.node_size(); ++peer) {
    if (peer == control.node_rank()) {
      writer.skip(row.bytes);
    } else {
      writer.write(buffers.sent_to(rank_of_[peer]));
    }
  }
  writer.finish();
}

void NodeRows::write_uniform_bulk(Plan& plan, const Buffers& buffers, std::size_t bytes) {
  ControlBlock& control = *plan.control;
  std::byte* to = control.bulk(epoch_ & 1, control.node_rank());
  for (int peer = 0; peer < control.node_size(); ++peer, to += bytes) {
    if (peer == control.node_rank()) continue;
    buffers.sent_to(rank_of_[peer]).take(to, 0, bytes);
    plan.last.staged_bytes += bytes;
  }
  raise_flag(control.my_lines().staged.word[epoch_ & 1], uniform_flag(bytes));
}

// Short blocks lie close together. If other blocks come in chunks, each short one lies in its peer's share of the bulk region.
void NodeRows::write_slot(Plan& plan, const Buffers& buffers, std::size_t peer, Row& row) {
  ControlBlock& control = *plan.control;
  Packet& packet = slots_of(control, control.node_rank())[peer];
  const Block& block = buffers.out[rank_of_[peer]];
  const Part part = buffers.sent_to(rank_of_[peer]);
  Slot& slot = *reinterpret_cast<Slot*>(packet.payload);
  slot.bytes = block.bytes;
  if (offered(plan, buffers, block)) {
    slot.place = row.base + static_cast<std::uint64_t>(block.offset);
    streams_.offer(static_cast<int>(peer), part);
  } else if (block.bytes > longest_) {
    slot.place = kStreamed;
    streams_.send(plan, static_cast<int>(peer), part);
  } else {
    const std::size_t first = std::min(block.bytes, kInlineBytes);
    slot.place = row.has_long ? peer * NodeStreams::share_bytes(control.layout()) : row.next;
    if (block.bytes > first) row.next += round_up(block.bytes - first, sizeof(std::uint64_t));
    part.take(slot.data, 0, first);
    if (block.bytes > first) part.take(control.bulk(epoch_ & 1, control.node_rank()) + slot.place, first, block.bytes - first);
    plan.last.staged_bytes += block.bytes;
  }
  raise_flag(packet.flag, slot_flag());
}

// Receivers that do not find what they expect read it.
void NodeRows::say_form(ControlBlock& control, const Row& row) {
  SeldomRead::RowForm& form = control.my_lines().seldom.row;
  form.bytes[epoch_ & 1].store(row.uniform ? row.bytes : kUnequal, std::memory_order_relaxed);
  raise_flag(form.flag[epoch_ & 1], flag_);
}

Status NodeRows::publish(Plan& plan, const Buffers& buffers) {
  ControlBlock& control = *plan.control;
  epoch_ = control.next_epoch();
  flag_ = control.flag(epoch_);
  CROSSRAIL_TRY(control.wait_until_read(epoch_, plan.number, readers_[epoch_ & 1]));
  Row row = measure(plan, buffers);
  streams_.begin(control, epoch_ & 1, buffers.in_place ? NodeStreams::Sides::in_place : NodeStreams::Sides::apart);
  offered_ = row.offers;
  if (row.offers) CROSSRAIL_TRY(offer_long(plan, buffers, row));
  if (row.uniform && row.bytes * ranks_ <= packet_bytes_) {
    if (row.bytes > 0) write_uniform_packets(plan, buffers, row);
  } else if (row.uniform) {
    write_uniform_bulk(plan, buffers, row.bytes);
  } else {
    for (std::size_t peer = 0; peer < ranks_; ++peer) {
      if (readers_[epoch_ & 1][peer] != 0) write_slot(plan, buffers, peer, row);
    }
  }
  say_form(control, row);
  if (rooted_) keep_for_root(plan);
  return {};
}

}  // namespace crossrail
