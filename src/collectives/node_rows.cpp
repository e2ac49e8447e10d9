#include "collectives/node_rows.h"

#include <algorithm>

#include "collectives/packets.h"

namespace crossrail {
namespace {

constexpr std::size_t kPayload = Packet::kPayloadBytes;

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
  const NodeBoardLayout& layout = plan.board->layout();
  ranks_ = static_cast<std::size_t>(layout.node_size);
  if (layout.packet_count <= ranks_) return failed(Code::no_memory, "the node's segment has no room for a packet a rank");
  packet_bytes_ = std::min<std::size_t>(plan.parameter("packet", 1024), (layout.packet_count - ranks_ - 1) * kPayload);
  // An odd stride: the packets of different ranks begin in different sets of the caches.
  stride_ = std::min((ranks_ + packets_for(packet_bytes_)) | 1, layout.packet_count);
  longest_ = std::min<std::size_t>(layout.bulk_bytes / ranks_, plan.parameter("direct", 8192));
  readers_[0].assign(ranks_, 0);
  readers_[1].assign(ranks_, 0);
  return {};
}

NodeRows::Row NodeRows::measure(const Plan& plan, const Buffers& buffers) {
  const int mine = plan.board->node_rank();
  const int* const rank_of = plan.topology->node_ranks().data();
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
  NodeBoard& board = *plan.board;
  std::ptrdiff_t begin = 0, end = 0;
  bool first = true;
  for (const int rank : plan.topology->node_ranks()) {
    const Block& block = buffers.out[rank];
    if (block.bytes <= longest_ || rank == board.rank_of(board.node_rank())) continue;
    begin = first ? block.offset : std::min(begin, block.offset);
    const std::ptrdiff_t its_end = block.offset + static_cast<std::ptrdiff_t>(block.bytes);
    end = first ? its_end : std::max(end, its_end);
    first = false;
  }
  CROSSRAIL_TRY(plan.links->offer(buffers.send + begin, static_cast<std::size_t>(end - begin), row.base));
  row.base -= static_cast<std::uint64_t>(begin);
  return {};
}

void NodeRows::write_uniform_packets(Plan& plan, const Buffers& buffers, const Row& row) {
  NodeBoard& board = *plan.board;
  Packet* const stream = stream_of(board, board.node_rank());
  plan.last.staged_bytes += row.total;
  if (row.in_order) {
    write_packets(stream, uniform_flag(row.bytes), buffers.send + buffers.out[board.rank_of(0)].offset, row.bytes * ranks_);
    return;
  }
  PacketWriter writer(stream, uniform_flag(row.bytes));
  for (int peer = 0; peer < board.node_size(); ++peer) {
    if (peer == board.node_rank()) {
      writer.skip(row.bytes);
    } else {
      writer.write(buffers.send + buffers.out[board.rank_of(peer)].offset, row.bytes);
    }
  }
  writer.finish();
}

void NodeRows::write_uniform_bulk(Plan& plan, const Buffers& buffers, std::size_t bytes) {
  NodeBoard& board = *plan.board;
  std::byte* to = board.bulk(epoch_ & 1, board.node_rank());
  for (int peer = 0; peer < board.node_size(); ++peer, to += bytes) {
    if (peer != board.node_rank()) plan.stage(to, buffers.send + buffers.out[board.rank_of(peer)].offset, bytes);
  }
  board.my_lines().staged.word[epoch_ & 1].store(uniform_flag(bytes), std::memory_order_release);
}

void NodeRows::write_slots(Plan& plan, const Buffers& buffers, std::uint64_t base) {
  NodeBoard& board = *plan.board;
  const int* const rank_of = plan.topology->node_ranks().data();
  std::byte* const region = board.bulk(epoch_ & 1, board.node_rank());
  Packet* packet = slots_of(board, board.node_rank());
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
  NodeBoard& board = *plan.board;
  epoch_ = board.next_epoch();
  flag_ = board.flag(epoch_);
  CROSSRAIL_TRY(board.settle_for(epoch_, plan.number, readers_[epoch_ & 1]));
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
NodeRows::Form NodeRows::form_of(NodeBoard& board, int peer, std::size_t bytes) const {
  const auto place = static_cast<std::size_t>(board.node_rank());
  const std::uint64_t slot = slots_of(board, peer)[place].flag.load(std::memory_order_acquire);
  if (slot == slot_flag()) return Form::slot;
  const bool in_packets = bytes * ranks_ <= packet_bytes_;
  const std::uint64_t uniform = in_packets ? stream_of(board, peer)[place * bytes / kPayload].flag.load(std::memory_order_acquire)
                                           : board.lines(peer).staged.word[epoch_ & 1].load(std::memory_order_acquire);
  if (uniform == uniform_flag(bytes)) return in_packets ? Form::uniform_packets : Form::uniform_bulk;
  const auto of_this_epoch = [this](std::uint64_t flag) {
    return static_cast<std::uint32_t>(flag >> 32) == static_cast<std::uint32_t>(epoch_);
  };
  return of_this_epoch(slot) || of_this_epoch(uniform) ? Form::mismatch : Form::none;
}

Status NodeRows::fetch_slot(Plan& plan, const Buffers& buffers, int peer) {
  NodeBoard& board = *plan.board;
  const Block& block = buffers.in[board.rank_of(peer)];
  const auto& slot = *reinterpret_cast<const Slot*>(slots_of(board, peer)[board.node_rank()].payload);
  std::byte* const to = buffers.recv + block.offset;
  if (slot.bytes != block.bytes) {
    return failure(Code::mismatch, "rank %d sends %llu bytes, rank %d expects %zu", board.rank_of(peer),
                   static_cast<unsigned long long>(slot.bytes), plan.topology->rank, block.bytes);
  }
  if (block.bytes > longest_) return plan.links->read_peer(board.rank_of(peer), to, slot.place, block.bytes);
  copy_block(to, slot.data, std::min(block.bytes, kInlineBytes));
  if (block.bytes > kInlineBytes) {
    std::memcpy(to + kInlineBytes, board.bulk(epoch_ & 1, peer) + slot.place, block.bytes - kInlineBytes);
  }
  return {};
}

Status NodeRows::fetch_from(Plan& plan, const Buffers& buffers, int peer) {
  NodeBoard& board = *plan.board;
  const Block& block = buffers.in[board.rank_of(peer)];
  const std::size_t at = static_cast<std::size_t>(board.node_rank()) * block.bytes;
  Form form = Form::none;
  CROSSRAIL_TRY(board.await(peer, [&] { return (form = form_of(board, peer, block.bytes)) != Form::none; }));
  board.seen(peer, epoch_);
  switch (form) {
    case Form::slot: return fetch_slot(plan, buffers, peer);
    case Form::uniform_packets:
      return read_packets(board, uniform_flag(block.bytes), {peer, stream_of(board, peer), at, block.bytes}, buffers.recv + block.offset);
    case Form::uniform_bulk:
      std::memcpy(buffers.recv + block.offset, board.bulk(epoch_ & 1, peer) + at, block.bytes);
      return {};
    default:
      return failure(Code::mismatch, "rank %d expects %zu bytes of rank %d, which sends it another number", plan.topology->rank,
                     block.bytes, board.rank_of(peer));
  }
}

Status NodeRows::fetch(Plan& plan, const Buffers& buffers) {
  NodeBoard& board = *plan.board;
  const int* const rank_of = plan.topology->node_ranks().data();
  const int ranks = board.node_size();
  const bool messages = !plan.topology->single_copy;
  const auto mine = static_cast<std::size_t>(board.node_rank());
  for (int step = 1; step < ranks; ++step) {
    const int peer = static_cast<int>(mine) + step < ranks ? static_cast<int>(mine) + step : static_cast<int>(mine) + step - ranks;
    const Block& block = buffers.in[rank_of[peer]];
    if (block.bytes == 0 || (messages && block.bytes > longest_)) continue;
    // What is there already, in one packet, is the common case.
    const std::size_t at = mine * block.bytes, skip = at % kPayload;
    if (block.bytes * ranks_ <= packet_bytes_ && skip + block.bytes <= kPayload) {
      const Packet& packet = stream_of(board, peer)[at / kPayload];
      if (packet.flag.load(std::memory_order_acquire) == uniform_flag(block.bytes)) {
        copy_block(buffers.recv + block.offset, packet.payload + skip, block.bytes);
        board.seen(peer, epoch_);
        continue;
      }
    }
    CROSSRAIL_TRY(fetch_from(plan, buffers, peer));
  }
  board.mark(board.my_lines().fetched, epoch_);
  return {};
}

Status NodeRows::finish(Plan& plan) {
  NodeBoard& board = *plan.board;
  if (!offered_) return {};
  for (int step = 1; step < board.node_size(); ++step) {
    const int peer = (board.node_rank() + step) % board.node_size();
    if (readers_[epoch_ & 1][static_cast<std::size_t>(peer)] != 0) CROSSRAIL_TRY(board.await_mark(peer, &RankLines::fetched, epoch_));
  }
  return {};
}

}  // namespace crossrail
