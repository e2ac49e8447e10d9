#include "mpi/buffers/packed_sides.h"

#include <algorithm>
#include <memory>
#include <new>

#include "base/bytes.h"
#include "comm/plan.h"
#include "device/device.h"
#include "mpi/buffers/side_parts.h"

namespace crossrail::mpi {
namespace {

// Returns whether other devices may write this block with its gaps. They write shorter runs more slowly than a row that is unpacked afterwards: 2.0
// against 1.1 ms for 64 MiB in runs of 16 bytes to each of 4 H100, 0.63 against 0.80 ms in runs of 64 bytes.
bool can_be_written(const DeviceLayout& layout) {
  constexpr std::uint64_t kShortestRun = 32;
  return layout.even && layout.runs.bytes >= kShortestRun;
}

bool begins_in_device_memory(const Side& block) {
  return device::is_device_memory(moved(block.address, span_of(block).lower));
}

// Returns the address of a block's first byte if its bytes are in a row, otherwise of the element that begins its layout.
std::byte* first_of(const Side& block) { return moved(block.address, block.in_a_row() ? block.facts.lower : 0); }

// Returns whether the plan takes the side's block to or from this rank as it lies.
bool is_taken_as_it_lies(const Plan* plan, const Side& side, int rank) {
  if (plan == nullptr || plan->as_they_lie == Plan::AsTheyLie::none) return false;
  return plan->as_they_lie == Plan::AsTheyLie::all || (side.table != nullptr && plan->topology->node_of[rank] == plan->topology->node());
}

}  // namespace

void PackedSides::fix() {
  devices_ = device::driver_present();
  fixed_ = true;
}

// Nearly every call has contiguous sides in host memory, so that neither this function nor `close` does more than a few steps for them.
Status PackedSides::open(Buffers& buffers, const Plan* plan) {
  if (!fixed_) devices_ = device::driver_present();
  if (devices_ || !recv_.facts.contiguous || !send_.facts.contiguous) return open_rows(buffers, plan);
  if (recv_.table == nullptr) {
    buffers.recv = moved(recv_.address, recv_.facts.lower);
    buffers.send = moved(send_.address, send_.facts.lower);
    return {};
  }
  if (one_side()) return open_rows(buffers, plan);
  buffers = {static_cast<const std::byte*>(send_.address), static_cast<std::byte*>(recv_.address), send_.table->blocks.data(), recv_.table->blocks.data()};
  return {};
}

BlockTable* PackedSides::send_table() const {
  if (!one_side() || recv_.table == nullptr) return send_.table;
  *recv_.table->copied = *recv_.table;
  return recv_.table->copied;
}

// Decides how blocks travel, and where those lie that do so as they lie. A `copied` block lies where another one will arrive and overwrite it.
void PackedSides::find_way(Way& way, const Plan* plan, bool copied) const {
  for (int rank = 0; rank < way.side->blocks(); ++rank) {
    const Side block = way.side->block(rank);
    const bool gaps = !block.in_a_row(), as_it_lies = is_taken_as_it_lies(plan, *way.side, rank);
    Travels& travels = way.travels(rank) = Travels::as_it_lies;
    way.block(rank) = {0, block.bytes()};
    if (block.bytes() == 0) continue;
    if (devices_ && lies_apart(block)) {
      travels = Travels::by_pieces;
    } else if (devices_ && begins_in_device_memory(block)) {
      travels = Travels::by_row;
      way.on_device = true;
      if (gaps) way.image_bytes = std::max(way.image_bytes, span_of(block).bytes);
    } else if (as_it_lies ? gaps && block.facts.layout == nullptr : gaps || copied) {
      travels = Travels::by_row;
    }
    if (travels != Travels::as_it_lies) way.row_bytes += block.bytes();
    else way.block(rank) = {offset_between(way.side->address, first_of(block)), block.bytes(), gaps ? block.facts.layout : nullptr};
  }
}

// Blocks that travel by row follow each other in it, at `packed` or behind the image.
Status PackedSides::lay_out(Way& way, std::byte*& packed) {
  const std::size_t before = round_up(way.image_bytes, kCacheLineBytes);
  if (way.on_device) CROSSRAIL_TRY(memory_.reserve_staged(*way.staged, before + way.row_bytes));
  std::byte* row = way.on_device ? way.staged->memory.get() + before : packed;
  packed += way.packed_bytes();
  auto* const address = static_cast<std::byte*>(way.side->address);
  way.base = address != nullptr || way.table == nullptr ? address : row;
  for (int rank = 0; rank < way.side->blocks(); ++rank) {
    Block& block = way.block(rank);
    const bool by_row = way.travels(rank) != Travels::as_it_lies;
    if (block.bytes > 0) block.offset = by_row ? offset_between(way.base, row) : block.offset - offset_between(address, way.base);
    if (by_row) row += block.bytes;
  }
  return {};
}

Status PackedSides::open_rows(Buffers& buffers, const Plan* plan) {
  const bool in_place = one_side(), vector = recv_.table != nullptr, one_row = in_place && !vector;
  Way separate{&send_, send_table(), &memory_.staged_send};
  Way& in = in_.emplace(Way{&recv_, recv_.table, &memory_.staged_recv});
  Way& out = one_row ? in : separate;
  find_way(in, plan, false);
  if (!one_row) find_way(out, plan, in_place);
  CROSSRAIL_TRY(memory_.packed.reserve(separate.packed_bytes() + in.packed_bytes()));
  std::byte* packed = memory_.packed.memory.get();
  if (!one_row) CROSSRAIL_TRY(lay_out(out, packed));
  CROSSRAIL_TRY(lay_out(in, packed));
  for (int rank = 0; rank < out.side->blocks(); ++rank) {
    if (out.travels(rank) != Travels::as_it_lies) CROSSRAIL_TRY(gather(out, rank, out.at(rank)));
  }
  if (vector) {
    in.table->shorter.clear();
    buffers = {out.base, in.base, out.table->blocks.data(), in.table->blocks.data(), in_place && plan != nullptr, &in.table->shorter};
    return {};
  }
  buffers = {out.at(0), in.at(0)};
  buffers.send_gaps = out.only.layout;
  buffers.recv_gaps = in.only.layout;
  return {};
}

Status PackedSides::fill_up(const ShortBlock& block) {
  if (in_->travels(block.rank) == Travels::as_it_lies) return {};
  const std::size_t bytes = in_->block(block.rank).bytes;
  const std::unique_ptr<std::byte[]> there(new (std::nothrow) std::byte[bytes]);
  if (there == nullptr) return failed(Code::no_memory, "there is no memory for a block that has arrived only in part");
  CROSSRAIL_TRY(gather(*in_, block.rank, there.get()));
  copy_block(in_->at(block.rank) + block.bytes, there.get() + block.bytes, bytes - block.bytes);
  return {};
}

Status PackedSides::close() {
  if (in_.has_value()) return close_rows();
  memory_.shrink();
  return {};
}

Status PackedSides::close_rows() {
  if (in_->table != nullptr) {
    for (const ShortBlock& block : in_->table->shorter) CROSSRAIL_TRY(fill_up(block));
  }
  const int blocks = in_->row_bytes == 0 ? 0 : recv_.blocks();
  for (int rank = 0; rank < blocks; ++rank) {
    if (in_->travels(rank) != Travels::as_it_lies) CROSSRAIL_TRY(scatter(*in_, rank));
  }
  memory_.shrink();
  return {};
}

// Describes the blocks as they lie, and the range from their first byte to their last. If a device cannot pack some block, the side becomes one in
// host memory.
DeviceSide PackedSides::on_device(const Side& side, BlockTable* table) {
  if (table == nullptr && side.bytes() > 0 && side.in_a_row()) return {first_of(side), side.bytes()};
  // The types of an earlier call, and their layouts with them, may have been freed.
  if (table != nullptr) std::fill(table->device_layouts.begin(), table->device_layouts.end(), nullptr);
  std::ptrdiff_t lower = PTRDIFF_MAX, upper = PTRDIFF_MIN;
  DeviceSide found;
  for (int rank = 0; rank < side.blocks(); ++rank) {
    const DeviceLayout* layout = nullptr;
    const Side block = side.block(rank);
    if (block.bytes() == 0) continue;
    if (!block.in_a_row()) {
      // Taking the type apart pays only for device memory.
      if (!found.gaps && !begins_in_device_memory(block)) return {};
      found.gaps = true;
      layout = device_layout_of(block.type);
      if (layout == nullptr) return {};
    }
    if (side.address == nullptr && !on_one_device(block)) return {};
    const Span span = span_of(block);
    const std::ptrdiff_t first = offset_between(side.address, moved(block.address, span.lower));
    lower = std::min(lower, first);
    upper = std::max(upper, first + static_cast<std::ptrdiff_t>(span.bytes));
    if (table == nullptr) continue;
    table->blocks[rank] = {layout != nullptr ? offset_between(side.address, block.address) : first, block.bytes()};
    table->device_layouts[rank] = layout;
  }
  if (lower > upper) return {nullptr, 0, false, true};
  found.ours = found.gaps && table == nullptr;
  found.address = moved(side.address, lower);
  found.bytes = static_cast<std::size_t>(upper - lower);
  return found;
}

// In place, the received blocks of a table go to memory of ours until everything has been sent.
DeviceCall PackedSides::on_devices() {
  if (recv_.table == nullptr) return {on_device(send_, nullptr), on_device(recv_, nullptr)};
  BlockTable &out = *send_table(), &in = *recv_.table;
  DeviceCall call{on_device(send_, &out), on_device(recv_, &in)};
  call.recv.ours = one_side();
  const auto place = [](const Block& block, std::ptrdiff_t first) { return static_cast<std::uint64_t>(block.bytes == 0 ? 0 : block.offset - first); };
  const std::ptrdiff_t sent = offset_between(send_.address, call.send.address), received = offset_between(recv_.address, call.recv.address);
  for (std::size_t rank = 0; rank < in.blocks.size(); ++rank) {
    const Block &to = out.blocks[rank], &from = in.blocks[rank];
    in.places[rank] = {place(from, received), place(to, sent), from.bytes, to.bytes};
    if (const DeviceLayout* const gaps = in.device_layouts[rank]; gaps != nullptr) {
      in.places[rank].element_bytes = gaps->element_bytes;
      in.places[rank].extent = gaps->extent;
      in.places[rank].runs = gaps->runs;
      call.recv.ours = call.recv.ours || !can_be_written(*gaps);
    }
    call.block_bytes = std::max({call.block_bytes, from.bytes, to.bytes});
  }
  call.places = in.places.data();
  return call;
}

Buffers PackedSides::device_buffers() {
  if (recv_.table == nullptr) {
    Buffers buffers{first_of(send_), first_of(recv_)};
    buffers.send_layout = send_.in_a_row() ? nullptr : device_layout_of(send_.type);
    buffers.recv_layout = recv_.in_a_row() ? nullptr : device_layout_of(recv_.type);
    return buffers;
  }
  const BlockTable &out = one_side() ? *recv_.table->copied : *send_.table, &in = *recv_.table;
  Buffers buffers{static_cast<const std::byte*>(send_.address), static_cast<std::byte*>(recv_.address), out.blocks.data(), in.blocks.data(),
                  one_side()};
  buffers.out_layouts = out.device_layouts.data();
  buffers.in_layouts = in.device_layouts.data();
  return buffers;
}

// Packs one of the user's blocks into a row; blocks with gaps in device memory go through host memory.
Status PackedSides::gather(Way& way, int rank, std::byte* row) {
  Side from = way.side->block(rank);
  if (way.travels(rank) == Travels::by_pieces) return copy_pieces(from, row, RowIs::filled);
  if (from.in_a_row()) return device::copy(row, first_of(from), from.bytes());
  if (devices_ && begins_in_device_memory(from)) {
    const Span span = span_of(from);
    std::byte* const image = way.staged->memory.get();
    CROSSRAIL_TRY(device::copy(image, moved(from.address, span.lower), span.bytes));
    from.address = moved(image, -span.lower);
  }
  return pack(from, comm_, row);
}

// Unpacks a row into a block. Gaps in device memory that cannot be told from data go back there as they came.
Status PackedSides::scatter(Way& way, int rank) {
  const Side to = way.side->block(rank);
  std::byte* const row = way.at(rank);
  if (way.travels(rank) == Travels::by_pieces) return copy_pieces(to, row, RowIs::read);
  if (to.in_a_row()) return device::copy(first_of(to), row, to.bytes());
  if (!devices_ || !begins_in_device_memory(to)) return unpack(row, to, comm_);
  const Span span = span_of(to);
  Side image = to;
  image.address = moved(way.staged->memory.get(), -span.lower);
  if (to.facts.layout == nullptr) CROSSRAIL_TRY(device::copy(way.staged->memory.get(), moved(to.address, span.lower), span.bytes));
  CROSSRAIL_TRY(unpack(row, image, comm_));
  return copy_part(static_cast<std::byte*>(to.address), static_cast<std::byte*>(image.address), parts_of(to).front());
}

}  // namespace crossrail::mpi
