#include "mpi/buffers/packed_vectors.h"

#include <algorithm>

#include "device/device.h"

namespace crossrail::mpi {
namespace {

std::ptrdiff_t offset_between(const std::byte* base, const std::byte* at) {
  return static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(base));
}

// The block as it lies in the user's memory, by the arguments of the call.
Side block_in(const VectorSide& side, const SideFacts& facts, int rank) {
  return {moved(side.address, side.displacements[rank] * facts.unit), static_cast<std::uint64_t>(side.counts[rank]),
          side.type_for(rank), facts.facts[side.has_types() ? rank : 0]};
}

bool in_device_memory(const Side& block) {
  return device::is_device_memory(moved(block.address, span_of(block).lower));
}

}  // namespace

Span span_of(const VectorSide& side, const SideFacts& facts) {
  std::ptrdiff_t lower = 0, upper = 0;
  bool any = false;
  for (int rank = 0; rank < static_cast<int>(facts.blocks.size()); ++rank) {
    if (facts.blocks[rank].bytes == 0) continue;
    const Side block = block_in(side, facts, rank);
    const Span span = span_of(block);
    const std::ptrdiff_t first = offset_between(static_cast<const std::byte*>(side.address), moved(block.address, span.lower));
    const std::ptrdiff_t last = first + static_cast<std::ptrdiff_t>(span.bytes);
    lower = any ? std::min(lower, first) : first;
    upper = any ? std::max(upper, last) : last;
    any = true;
  }
  return {lower, static_cast<std::size_t>(upper - lower)};
}

Side PackedVectors::block_of(const Way& way, int rank) const { return block_in(*way.side, *way.room, rank); }

PackedVectors::Way PackedVectors::way_of(const SurveyedSide& surveyed, Blocks by_row) const {
  Way way{&surveyed.side, &surveyed.room};
  SideFacts& room = surveyed.room;
  const int ranks = static_cast<int>(room.blocks.size());
  for (int rank = 0; rank < ranks; ++rank) {
    room.by_row[rank] = 0;
    if (room.blocks[rank].bytes == 0) continue;
    const Side block = block_of(way, rank);
    const bool on_device = devices_ && in_device_memory(block);
    if (by_row != Blocks::all && block.facts.contiguous && !on_device) continue;
    room.by_row[rank] = 1;
    way.row_bytes += room.blocks[rank].bytes;
    if (on_device && !block.facts.contiguous) way.staged_bytes = std::max(way.staged_bytes, span_of(block).bytes);
  }
  return way;
}

void PackedVectors::fix() {
  devices_ = device::driver_present();
  fixed_ = true;
}

Status PackedVectors::open(Buffers& buffers) {
  const SurveyedSide& send = send_side_;
  const SurveyedSide& recv = recv_side_;
  if (!fixed_) devices_ = device::driver_present();
  if (&send.side == &recv.side) {
    send.room = recv.room;
    const Way copied = way_of(send, Blocks::all);
    recv_ = way_of(recv, Blocks::where_they_must);
    return lay_out(copied, buffers);
  }
  if (!devices_ && send.room.contiguous && recv.room.contiguous) {
    buffers = {static_cast<const std::byte*>(send.side.address), static_cast<std::byte*>(recv.side.address),
               send.room.blocks.data(), recv.room.blocks.data()};
    return {};
  }
  const Way out = way_of(send, Blocks::where_they_must);
  recv_ = way_of(recv, Blocks::where_they_must);
  return lay_out(out, buffers);
}

// Blocks that travel by row lie one after the other in it, first those to be sent.
Status PackedVectors::lay_out(const Way& out, Buffers& buffers) {
  CROSSRAIL_TRY(memory_.packed.reserve(out.row_bytes + recv_.row_bytes));
  CROSSRAIL_TRY(memory_.staged_send.reserve(out.staged_bytes));
  CROSSRAIL_TRY(memory_.staged_recv.reserve(recv_.staged_bytes));
  std::byte* const row = memory_.packed.memory.get();
  std::byte* const send_base = place(out, row);
  recv_base_ = place(recv_, row + out.row_bytes);
  const int ranks = static_cast<int>(out.room->blocks.size());
  for (int rank = 0; rank < ranks; ++rank) {
    if (out.room->by_row[rank] == 0) continue;
    CROSSRAIL_TRY(gather(block_of(out, rank), moved(send_base, out.room->blocks[rank].offset)));
  }
  buffers = {send_base, recv_base_, out.room->blocks.data(), recv_.room->blocks.data()};
  return {};
}

// Returns what the offsets of the blocks count from: the user's address, or `row` where that is null.
std::byte* PackedVectors::place(const Way& way, std::byte* row) const {
  auto* const address = static_cast<std::byte*>(way.side->address);
  std::byte* const base = address != nullptr ? address : row;
  const std::size_t ranks = way.room->blocks.size();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    Block& block = way.room->blocks[rank];
    if (way.room->by_row[rank] == 0) {
      block.offset = block.bytes == 0 ? 0 : offset_between(base, moved(address, block.offset));
      continue;
    }
    block.offset = offset_between(base, row);
    row += block.bytes;
  }
  return base;
}

Status PackedVectors::close() {
  if (recv_.row_bytes == 0) return {};
  const int ranks = static_cast<int>(recv_.room->blocks.size());
  for (int rank = 0; rank < ranks; ++rank) {
    if (recv_.room->by_row[rank] == 0) continue;
    CROSSRAIL_TRY(scatter(moved(recv_base_, recv_.room->blocks[rank].offset), block_of(recv_, rank)));
  }
  return {};
}

// A block of the user's, packed, to a row; blocks with gaps in device memory by way of host memory.
Status PackedVectors::gather(const Side& from, std::byte* row) {
  const std::size_t bytes = from.count * from.facts.bytes;
  if (from.facts.contiguous) return device::copy(row, from.address, bytes);
  TypedMemory memory{from.address, from.count, from.type, from.facts.bytes, comm_};
  if (devices_ && in_device_memory(from)) {
    const Span span = span_of(from);
    std::byte* const staged = memory_.staged_send.memory.get();
    CROSSRAIL_TRY(device::copy(staged, moved(from.address, span.lower), span.bytes));
    memory.address = moved(staged, -span.lower);
  }
  return pack(memory, row);
}

// And back. What lies in the gaps of a block in device memory goes back there as it came.
Status PackedVectors::scatter(const std::byte* row, const Side& to) {
  const std::size_t bytes = to.count * to.facts.bytes;
  if (to.facts.contiguous) return device::copy(to.address, row, bytes);
  TypedMemory memory{to.address, to.count, to.type, to.facts.bytes, comm_};
  if (!devices_ || !in_device_memory(to)) return unpack(row, memory);
  const Span span = span_of(to);
  std::byte* const staged = memory_.staged_recv.memory.get();
  std::byte* const first = moved(to.address, span.lower);
  CROSSRAIL_TRY(device::copy(staged, first, span.bytes));
  memory.address = moved(staged, -span.lower);
  CROSSRAIL_TRY(unpack(row, memory));
  return device::copy(first, staged, span.bytes);
}

}  // namespace crossrail::mpi
