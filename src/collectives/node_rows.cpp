#include "collectives/node_rows.h"

#include <algorithm>

#include "collectives/packets.h"

namespace crossrail {
namespace {

constexpr std::size_t kPayload = Packet::kPayloadBytes;
constexpr std::size_t kEntriesAPacket = kPayload / sizeof(std::uint64_t);

std::size_t packets_for(std::size_t bytes) { return (bytes + kPayload - 1) / kPayload; }

// A packet table's entry in one word.
std::uint64_t packed_entry(std::size_t place, std::size_t bytes) { return place << 32 | bytes; }

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
  const auto ranks = static_cast<std::size_t>(layout.node_size);
  header_packets_ = (ranks + kEntriesAPacket - 1) / kEntriesAPacket;
  packet_bytes_ = plan.parameter("packet", 1024);
  // An odd stride: streams of different ranks begin in different sets of the caches.
  stride_ = (header_packets_ + packets_for(packet_bytes_) + 1) | 1;
  if (stride_ > layout.packet_count) {
    stride_ = layout.packet_count;
    packet_bytes_ = stride_ > header_packets_ ? (stride_ - header_packets_ - 1) * kPayload : 0;
  }
  const std::size_t table = round_up(ranks * sizeof(Entry), kCacheLineBytes);
  if (layout.bulk_bytes < table) return failed(Code::no_memory, "the node's segment has no room for a table");
  const std::size_t room = (layout.bulk_bytes - table) / ranks;
  longest_ = std::min<std::size_t>(room, plan.parameter("direct", 8192));
  readers_[0].assign(ranks, false);
  readers_[1].assign(ranks, false);
  return {};
}

NodeRows::Row NodeRows::measure(const Plan& plan, const Buffers& buffers) {
  NodeBoard& board = *plan.board;
  auto& readers = readers_[epoch_ & 1];
  Row row;
  bool first = true;
  for (int peer = 0; peer < board.node_size(); ++peer) {
    if (peer == board.node_rank()) continue;
    const std::size_t bytes = buffers.out[board.rank_of(peer)].bytes;
    const bool here = bytes > 0 && !is_message(plan, bytes);
    readers[static_cast<std::size_t>(peer)] = here;
    row.has_long = row.has_long || (here && bytes > longest_);
    if (bytes <= longest_) row.total += bytes;
    if (first) row.bytes = bytes;
    row.uniform = row.uniform && bytes == row.bytes && bytes <= longest_;
    first = false;
  }
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

void NodeRows::write_uniform_packets(Plan& plan, const Buffers& buffers, std::size_t bytes) {
  NodeBoard& board = *plan.board;
  PacketWriter writer(packets_of(board, board.node_rank()), uniform_flag(bytes));
  for (int peer = 0; peer < board.node_size(); ++peer) {
    if (peer == board.node_rank()) {
      writer.skip(bytes);
    } else {
      writer.write(buffers.send + buffers.out[board.rank_of(peer)].offset, bytes);
    }
  }
  writer.finish();
  plan.last.staged_bytes += bytes * static_cast<std::size_t>(board.node_size() - 1);
}

void NodeRows::write_packets_with_table(Plan& plan, const Buffers& buffers) {
  NodeBoard& board = *plan.board;
  Packet* const first = packets_of(board, board.node_rank());
  PacketWriter table(first, table_flag());
  PacketWriter stream(first + header_packets_, table_flag());
  std::size_t place = 0;
  for (int peer = 0; peer < board.node_size(); ++peer) {
    const Block& block = buffers.out[board.rank_of(peer)];
    const std::size_t bytes = readers_[epoch_ & 1][static_cast<std::size_t>(peer)] ? block.bytes : 0;
    const std::uint64_t entry = packed_entry(place, bytes);
    table.write(&entry, sizeof entry);
    stream.write(buffers.send + block.offset, bytes);
    place += bytes;
  }
  table.finish();
  stream.finish();
  plan.last.staged_bytes += place;
}

void NodeRows::write_bulk(Plan& plan, const Buffers& buffers, const Row& row) {
  NodeBoard& board = *plan.board;
  const auto ranks = static_cast<std::size_t>(board.node_size());
  std::byte* const region = board.bulk(epoch_ & 1, board.node_rank());
  auto* const table = reinterpret_cast<Entry*>(region);
  std::size_t place = row.uniform ? 0 : round_up(ranks * sizeof(Entry), kCacheLineBytes);
  for (std::size_t peer = 0; peer < ranks; ++peer) {
    const Block& block = buffers.out[board.rank_of(static_cast<int>(peer))];
    const bool here = readers_[epoch_ & 1][peer];
    const bool is_long = here && block.bytes > longest_;
    if (!row.uniform) table[peer] = {here ? block.bytes : 0, is_long ? row.base + static_cast<std::uint64_t>(block.offset) : place};
    if (here && !is_long) plan.stage(region + place, buffers.send + block.offset, block.bytes);
    place += row.uniform ? row.bytes : here && !is_long ? block.bytes : 0;
  }
  board.my_lines().staged.word[epoch_ & 1].store(row.uniform ? uniform_flag(row.bytes) : table_flag(), std::memory_order_release);
}

Status NodeRows::publish(Plan& plan, const Buffers& buffers) {
  NodeBoard& board = *plan.board;
  epoch_ = board.next_epoch();
  flag_ = board.flag(epoch_);
  CROSSRAIL_TRY(board.settle_for(epoch_, plan.number, readers_[epoch_ & 1]));
  Row row = measure(plan, buffers);
  offered_ = row.has_long;
  if (row.has_long) CROSSRAIL_TRY(offer_long(plan, buffers, row));
  const bool anything = row.total > 0 || row.has_long;
  const auto ranks = static_cast<std::size_t>(board.node_size());
  if (!anything) return {};
  if (row.uniform && row.bytes * ranks <= packet_bytes_) {
    write_uniform_packets(plan, buffers, row.bytes);
  } else if (!row.uniform && !row.has_long && row.total <= packet_bytes_) {
    write_packets_with_table(plan, buffers);
  } else {
    write_bulk(plan, buffers, row);
  }
  return {};
}

// Where `peer` has put this rank's block of `bytes`; none if it has not yet.
NodeRows::Form NodeRows::form_of(NodeBoard& board, int peer, std::size_t bytes) const {
  const auto ranks = static_cast<std::size_t>(board.node_size());
  const auto place = static_cast<std::size_t>(board.node_rank());
  const Packet* const packets = packets_of(board, peer);
  const bool may_be_uniform_packets = bytes * ranks <= packet_bytes_;
  const std::uint64_t flags[] = {
      may_be_uniform_packets ? packets[place * bytes / kPayload].flag.load(std::memory_order_acquire) : 0,
      packet_bytes_ > 0 ? packets[place / kEntriesAPacket].flag.load(std::memory_order_acquire) : 0,
      board.lines(peer).staged.word[epoch_ & 1].load(std::memory_order_acquire)};
  if (flags[0] == uniform_flag(bytes)) return Form::uniform_packets;
  if (flags[1] == table_flag()) return Form::packets;
  if (flags[2] == uniform_flag(bytes)) return Form::uniform_bulk;
  if (flags[2] == table_flag()) return Form::bulk;
  for (const std::uint64_t flag : flags) {
    const bool now = static_cast<std::uint32_t>(flag >> 32) == static_cast<std::uint32_t>(epoch_);
    if (now && flag != uniform_flag(bytes) && flag != table_flag()) return Form::mismatch;
  }
  return Form::none;
}

Status NodeRows::fetch_bulk(Plan& plan, const Buffers& buffers, int peer) {
  NodeBoard& board = *plan.board;
  const Block& block = buffers.in[board.rank_of(peer)];
  const std::byte* const region = board.bulk(epoch_ & 1, peer);
  const Entry entry = reinterpret_cast<const Entry*>(region)[board.node_rank()];
  if (entry.bytes != block.bytes) {
    return failure(Code::mismatch, "rank %d sends %llu bytes, rank %d expects %zu", board.rank_of(peer),
                   static_cast<unsigned long long>(entry.bytes), plan.topology->rank, block.bytes);
  }
  if (block.bytes > longest_) return plan.links->read_peer(board.rank_of(peer), buffers.recv + block.offset, entry.place, block.bytes);
  copy_block(buffers.recv + block.offset, region + entry.place, block.bytes);
  return {};
}

Status NodeRows::fetch_from(Plan& plan, const Buffers& buffers, int peer) {
  NodeBoard& board = *plan.board;
  const Block& block = buffers.in[board.rank_of(peer)];
  const auto place = static_cast<std::size_t>(board.node_rank());
  Form form = Form::none;
  CROSSRAIL_TRY(board.await(peer, [&] { return (form = form_of(board, peer, block.bytes)) != Form::none; }));
  board.seen(peer, epoch_);
  const Packet* packets = packets_of(board, peer);
  std::size_t at = place * block.bytes;
  switch (form) {
    case Form::uniform_packets:
      return read_packets(board, uniform_flag(block.bytes), {peer, packets, at, block.bytes}, buffers.recv + block.offset);
    case Form::uniform_bulk:
      copy_block(buffers.recv + block.offset, board.bulk(epoch_ & 1, peer) + at, block.bytes);
      return {};
    case Form::bulk: return fetch_bulk(plan, buffers, peer);
    case Form::packets: {
      std::uint64_t entry = 0;
      std::memcpy(&entry, packets[place / kEntriesAPacket].payload + place % kEntriesAPacket * sizeof entry, sizeof entry);
      at = entry >> 32;
      if (static_cast<std::uint32_t>(entry) == block.bytes) {
        return read_packets(board, table_flag(), {peer, packets + header_packets_, at, block.bytes}, buffers.recv + block.offset);
      }
      break;
    }
    default: break;
  }
  return failure(Code::mismatch, "rank %d expects %zu bytes of rank %d, which sends it another number", plan.topology->rank,
                 block.bytes, board.rank_of(peer));
}

Status NodeRows::fetch(Plan& plan, const Buffers& buffers) {
  NodeBoard& board = *plan.board;
  for (int step = 1; step < board.node_size(); ++step) {
    const int peer = (board.node_rank() + step) % board.node_size();
    const std::size_t bytes = buffers.in[board.rank_of(peer)].bytes;
    if (bytes > 0 && !is_message(plan, bytes)) CROSSRAIL_TRY(fetch_from(plan, buffers, peer));
  }
  board.mark(board.my_lines().fetched, epoch_);
  return {};
}

Status NodeRows::finish(Plan& plan) {
  NodeBoard& board = *plan.board;
  if (!offered_) return {};
  for (int step = 1; step < board.node_size(); ++step) {
    const int peer = (board.node_rank() + step) % board.node_size();
    if (readers_[epoch_ & 1][static_cast<std::size_t>(peer)]) CROSSRAIL_TRY(board.await_mark(peer, &RankLines::fetched, epoch_));
  }
  return {};
}

}  // namespace crossrail
