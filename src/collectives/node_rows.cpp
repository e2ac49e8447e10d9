#include "collectives/node_rows.h"

#include <algorithm>

#include "collectives/packets.h"
#include "collectives/parameters.h"

namespace crossrail {
namespace {

constexpr std::size_t kPayload = Packet::kPayloadBytes;
constexpr unsigned kLooksAQuestion = 256;

std::size_t packets_for(std::size_t bytes) { return (bytes + kPayload - 1) / kPayload; }

// Writes a stream of packets piece by piece.
class PacketWriter {
 public:
  PacketWriter(Packet* first, std::uint64_t flag) : packet_(first), flag_(flag) {}
  void write(const void* from, std::size_t bytes) {
    const auto* piece = static_cast<const std::byte*>(from);
    while (bytes > 0) {
      const std::size_t part = std::min(kPayload - at_, bytes);
      copy_block(packet_->payload + at_, piece, part);
      piece += part;
      bytes -= part;
      advance(part);
    }
  }
  void skip(std::size_t bytes) {
    while (bytes > 0) {
      const std::size_t part = std::min(kPayload - at_, bytes);
      bytes -= part;
      advance(part);
    }
  }
  void finish() {
    if (at_ > 0) advance(kPayload - at_);
  }

 private:
  void advance(std::size_t bytes) {
    at_ += bytes;
    if (at_ < kPayload) return;
    packet_->flag.store(flag_, std::memory_order_release);
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
  if (layout.packet_count <= ranks_) return failed(Code::no_memory, "the node's segment has no room for a packet a rank");
  packet_bytes_ = std::min<std::size_t>(plan.parameter(parameters::packet), (layout.packet_count - ranks_ - 1) * kPayload);
  // An odd stride: the packets of different ranks begin in different sets of the caches.
  stride_ = std::min((ranks_ + packets_for(packet_bytes_)) | 1, layout.packet_count);
  longest_ = std::min<std::size_t>(layout.bulk_bytes / ranks_, plan.parameter(parameters::direct));
  readers_[0].assign(ranks_, 0);
  readers_[1].assign(ranks_, 0);
  return {};
}

NodeRows::Row NodeRows::measure(const Plan& plan, const Buffers& buffers) {
  const int mine = plan.control->node_rank();
  const int* const rank_of = rank_of_.data();
  const bool messages = !plan.topology->single_copy;
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
    readers[peer] = bytes > 0 && !(messages && bytes > longest_);
    row.total += bytes > longest_ ? 0 : bytes;
    longest = std::max(longest, bytes);
    unequal |= peer == mine ? 0 : bytes ^ row.bytes;
  }
  row.has_long = longest > longest_ && !messages;
  row.uniform = unequal == 0 && longest <= longest_;
  row.in_order = row.uniform && misplaced == 0 && buffers.out[rank_of[mine]].bytes == row.bytes;
  return row;
}

// Long blocks are read where they lie: one span from the first to the last of them.
Status NodeRows::offer_long(Plan& plan, const Buffers& buffers, Row& row) {
  ControlBlock& control = *plan.control;
  std::ptrdiff_t begin = 0, end = 0;
  bool first = true;
  for (const int rank : rank_of_) {
    const Block& block = buffers.out[rank];
    if (block.bytes <= longest_ || rank == rank_of_[control.node_rank()]) continue;
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
      writer.write(buffers.send + buffers.out[rank_of_[peer]].offset, row.bytes);
    }
  }
  writer.finish();
}

void NodeRows::write_uniform_bulk(Plan& plan, const Buffers& buffers, std::size_t bytes) {
  ControlBlock& control = *plan.control;
  std::byte* to = control.bulk(epoch_ & 1, control.node_rank());
  for (int peer = 0; peer < control.node_size(); ++peer, to += bytes) {
    if (peer != control.node_rank()) plan.stage(to, buffers.send + buffers.out[rank_of_[peer]].offset, bytes);
  }
  control.my_lines().staged.word[epoch_ & 1].store(uniform_flag(bytes), std::memory_order_release);
}

void NodeRows::write_slots(Plan& plan, const Buffers& buffers, std::uint64_t base) {
  ControlBlock& control = *plan.control;
  const int* const rank_of = rank_of_.data();
  std::byte* const region = control.bulk(epoch_ & 1, control.node_rank());
  Packet* packet = slots_of(control, control.node_rank());
  std::size_t place = 0;
  for (std::size_t peer = 0; peer < ranks_; ++peer, ++packet) {
    if (readers_[epoch_ & 1][peer] == 0) continue;
    const Block& block = buffers.out[rank_of[peer]];
    const std::byte* const from = buffers.send + block.offset;
    Slot& slot = *reinterpret_cast<Slot*>(packet->payload);
    slot.bytes = block.bytes;
    slot.place = place;
    if (block.bytes > longest_) {
      slot.place = base + static_cast<std::uint64_t>(block.offset);
    } else if (block.bytes <= kInlineBytes) {
      plan.stage(slot.data, from, block.bytes);
    } else {
      plan.stage(slot.data, from, kInlineBytes);
      plan.stage(region + place, from + kInlineBytes, block.bytes - kInlineBytes);
      place += round_up(block.bytes - kInlineBytes, sizeof(std::uint64_t));
    }
    packet->flag.store(slot_flag(), std::memory_order_release);
  }
}

Status NodeRows::publish(Plan& plan, const Buffers& buffers) {
  ControlBlock& control = *plan.control;
  epoch_ = control.next_epoch();
  flag_ = control.flag(epoch_);
  CROSSRAIL_TRY(control.wait_until_read(epoch_, plan.number, readers_[epoch_ & 1]));
  Row row = measure(plan, buffers);
  offered_ = row.has_long;
  if (row.has_long) CROSSRAIL_TRY(offer_long(plan, buffers, row));
  if (row.uniform && row.bytes * ranks_ <= packet_bytes_) {
    if (row.bytes > 0) write_uniform_packets(plan, buffers, row);
  } else if (row.uniform) {
    write_uniform_bulk(plan, buffers, row.bytes);
  } else if (row.total > 0 || row.has_long) {
    write_slots(plan, buffers, row.base);
  }
  return {};
}

// Where `peer` has put this rank's block of `bytes`; none if it has not yet.
NodeRows::Form NodeRows::form_of(ControlBlock& control, int peer, std::size_t bytes) const {
  const auto place = static_cast<std::size_t>(control.node_rank());
  const std::uint64_t slot = slots_of(control, peer)[place].flag.load(std::memory_order_acquire);
  if (slot == slot_flag()) return Form::slot;
  const bool in_packets = bytes * ranks_ <= packet_bytes_;
  const std::uint64_t uniform = in_packets ? stream_of(control, peer)[place * bytes / kPayload].flag.load(std::memory_order_acquire)
                                           : control.lines(peer).staged.word[epoch_ & 1].load(std::memory_order_acquire);
  if (uniform == uniform_flag(bytes)) return in_packets ? Form::uniform_packets : Form::uniform_bulk;
  const auto of_this_epoch = [this](std::uint64_t flag) {
    return ControlBlock::epoch_of(flag) == epoch_;
  };
  return of_this_epoch(slot) || of_this_epoch(uniform) ? Form::mismatch : Form::none;
}

// Of a peer that has been waited for: it has left all its blocks, and none is for this rank.
bool NodeRows::sends_nothing(ControlBlock& control, int peer, std::size_t bytes) const {
  return control.has_come(peer, fetched, epoch_) && form_of(control, peer, bytes) == Form::none;
}

Status NodeRows::fetch_slot(Plan& plan, const Buffers& buffers, int peer) {
  ControlBlock& control = *plan.control;
  const Block& block = buffers.in[rank_of_[peer]];
  const auto& slot = *reinterpret_cast<const Slot*>(slots_of(control, peer)[control.node_rank()].payload);
  std::byte* const to = buffers.recv + block.offset;
  if (slot.bytes != block.bytes) {
    return failure(Code::mismatch, "rank %d sends %llu bytes, rank %d expects %zu", rank_of_[peer],
                   static_cast<unsigned long long>(slot.bytes), plan.topology->rank, block.bytes);
  }
  if (block.bytes > longest_) return plan.links->read_peer(rank_of_[peer], to, slot.place, block.bytes);
  copy_block(to, slot.data, std::min(block.bytes, kInlineBytes));
  if (block.bytes > kInlineBytes) {
    std::memcpy(to + kInlineBytes, control.bulk(epoch_ & 1, peer) + slot.place, block.bytes - kInlineBytes);
  }
  return {};
}

Status NodeRows::fetch_from(Plan& plan, const Buffers& buffers, int peer) {
  ControlBlock& control = *plan.control;
  const Block& block = buffers.in[rank_of_[peer]];
  const std::size_t at = static_cast<std::size_t>(control.node_rank()) * block.bytes;
  Form form = Form::none;
  unsigned looks = 0;
  CROSSRAIL_TRY(control.await(peer, [&] {
    form = form_of(control, peer, block.bytes);
    if (form == Form::none && ++looks % kLooksAQuestion == 0 && sends_nothing(control, peer, block.bytes)) form = Form::mismatch;
    return form != Form::none;
  }));
  control.seen(peer, epoch_);
  switch (form) {
    case Form::slot: return fetch_slot(plan, buffers, peer);
    case Form::uniform_packets:
      return read_packets(control, uniform_flag(block.bytes), {peer, stream_of(control, peer), at, block.bytes}, buffers.recv + block.offset);
    case Form::uniform_bulk:
      std::memcpy(buffers.recv + block.offset, control.bulk(epoch_ & 1, peer) + at, block.bytes);
      return {};
    default:
      return failure(Code::mismatch, "rank %d expects %zu bytes of rank %d, which sends it another number", plan.topology->rank,
                     block.bytes, rank_of_[peer]);
  }
}

// From a stream of packets of equal blocks. False, with nothing said of `block`, if one of its packets is missing.
bool NodeRows::copy_if_there(const Packet* stream, std::size_t at, const Block& block, std::byte* recv) const {
  const std::uint64_t flag = uniform_flag(block.bytes);
  const Packet* packet = stream + at / kPayload;
  std::size_t skip = at % kPayload, left = block.bytes;
  std::byte* to = recv + block.offset;
  for (;; ++packet, skip = 0) {
    if (packet->flag.load(std::memory_order_acquire) != flag) return false;
    const std::size_t part = std::min(kPayload - skip, left);
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
  const bool messages = !plan.topology->single_copy;
  const auto mine = static_cast<std::size_t>(control.node_rank());
  for (int step = 1; step < ranks; ++step) {
    const int peer = static_cast<int>(mine) + step < ranks ? static_cast<int>(mine) + step : static_cast<int>(mine) + step - ranks;
    const Block& block = buffers.in[rank_of[peer]];
    if (block.bytes == 0 || (messages && block.bytes > longest_)) continue;
    // What is there already is the common case.
    if (block.bytes * ranks_ <= packet_bytes_ && copy_if_there(stream_of(control, peer), mine * block.bytes, block, buffers.recv)) {
      control.seen(peer, epoch_);
      continue;
    }
    CROSSRAIL_TRY(fetch_from(plan, buffers, peer));
  }
  control.post(fetched, epoch_);
  return {};
}

Status NodeRows::finish(Plan& plan) {
  ControlBlock& control = *plan.control;
  if (!offered_) return {};
  for (int step = 1; step < control.node_size(); ++step) {
    const int peer = (control.node_rank() + step) % control.node_size();
    if (readers_[epoch_ & 1][static_cast<std::size_t>(peer)] != 0) CROSSRAIL_TRY(control.wait(peer, fetched, epoch_));
  }
  return {};
}

}  // namespace crossrail
