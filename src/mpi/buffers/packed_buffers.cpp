#include "mpi/buffers/packed_buffers.h"

#include "device/device.h"
#include "comm/plan.h"
#include "mpi/buffers/side_parts.h"
#include "mpi/library/pmpi.h"

namespace crossrail::mpi {

Span span_of(const Side& side) {
  if (side.count == 0 || side.facts.bytes == 0) return {};
  if (side.facts.in_a_row_of(side.count)) return {side.facts.lower, side.count * side.facts.bytes};
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  (void)pmpi().Type_get_extent(side.type, &lower, &extent);
  (void)pmpi().Type_get_true_extent(side.type, &true_lower, &true_extent);
  const std::ptrdiff_t steps = static_cast<std::ptrdiff_t>(side.count - 1) * extent;
  return {true_lower + (extent < 0 ? steps : 0), static_cast<std::size_t>(true_extent + (extent < 0 ? -steps : steps))};
}

bool lies_apart(const void* address, const Side& side) {
  return address == nullptr && side.facts.layout != nullptr && !side.facts.in_a_row_of(side.count) && in_device_memory(nullptr, parts_of(side));
}

Status PackedBuffers::stage(GrowableBuffer& room, bool with_content, Way& way) {
  const Side& side = *way.side;
  way.host = static_cast<std::byte*>(side.address);
  way.gaps = side.has_gaps();
  way.apart = devices_ && lies_apart(side.address, side);
  way.packed = way.gaps && (way.apart || !(as_they_lie_ && side.facts.layout != nullptr));
  const Span span = span_of(side);
  std::byte* const first = moved(side.address, span.lower);
  way.staged = devices_ && !way.apart && span.bytes > 0 && device::is_device_memory(first);
  if (!way.staged) return {};
  CROSSRAIL_TRY(memory_.reserve_staged(room, span.bytes));
  way.host = moved(room.memory.get(), -span.lower);
  return with_content ? device::copy(room.memory.get(), first, span.bytes) : Status{};
}

TypedMemory PackedBuffers::typed(const Way& way) const {
  return {way.host, way.side->count, way.side->type, way.side->facts.bytes, way.side->facts.layout, comm_};
}

// Returns where the engine finds a side that is not packed: its first byte, or the element that begins its layout.
std::byte* PackedBuffers::first(const Way& way) { return way.gaps ? way.host : moved(way.host, way.side->facts.lower); }

namespace {

const DeviceLayout* device_gaps_of(const Side& side) {
  return side.facts.in_a_row_of(side.count) ? nullptr : device_layout_of(side.type);
}

DeviceSide on_device(const Side& side) {
  if (side.count == 0 || side.facts.bytes == 0) return {nullptr, 0, false, true};
  if (side.facts.in_a_row_of(side.count)) return {moved(side.address, side.facts.lower), side.count * side.facts.bytes, false};
  // Taking the type apart pays only for device memory.
  const Span span = span_of(side);
  const std::byte* const first = moved(side.address, span.lower);
  if (!device::is_device_memory(first) || device_layout_of(side.type) == nullptr) return {};
  if (side.address == nullptr && !on_one_device(side)) return {};
  return {first, span.bytes, true, false, true};
}

}  // namespace

DeviceCall PackedBuffers::on_devices() {
  const DeviceSide recv = on_device(recv_side_);
  return {send_side_ == nullptr ? recv : on_device(*send_side_), recv};
}

Buffers PackedBuffers::device_buffers() {
  const Side& send = send_side_ == nullptr ? recv_side_ : *send_side_;
  const auto base = [](const Side& side) { return moved(side.address, side.facts.in_a_row_of(side.count) ? side.facts.lower : 0); };
  Buffers buffers{base(send), base(recv_side_)};
  buffers.send_layout = device_gaps_of(send);
  buffers.recv_layout = device_gaps_of(recv_side_);
  return buffers;
}

void PackedBuffers::fix() {
  devices_ = device::driver_present();
  fixed_ = true;
}

// Nearly every call has contiguous sides in host memory, so that neither this function nor `close` does more than a few steps for them.
Status PackedBuffers::open(Buffers& buffers, const Plan* plan) {
  if (!fixed_) devices_ = device::driver_present();
  const Side& send = send_side_ == nullptr ? recv_side_ : *send_side_;
  recv_ = {};
  if (devices_ || !recv_side_.facts.contiguous || !send.facts.contiguous) return open_rows(buffers, plan);
  buffers.recv = moved(recv_side_.address, recv_side_.facts.lower);
  buffers.send = moved(send.address, send.facts.lower);
  return {};
}

Status PackedBuffers::open_rows(Buffers& buffers, const Plan* plan) {
  const bool in_place = send_side_ == nullptr;
  const Side* const send = send_side_;
  const Side& recv = recv_side_;
  as_they_lie_ = plan != nullptr && plan->as_they_lie == Plan::AsTheyLie::all;
  recv_.side = &recv;
  // Gaps that cannot be told from data go back to the device as they came.
  const bool with_gaps = !recv.facts.in_a_row_of(recv.count) && recv.facts.layout == nullptr;
  CROSSRAIL_TRY(stage(memory_.staged_recv, in_place || with_gaps, recv_));
  Way out = recv_;
  if (!in_place) {
    out = Way{};
    out.side = send;
    CROSSRAIL_TRY(stage(memory_.staged_send, true, out));
  }
  const std::size_t recv_bytes = recv_.packed ? recv.count * recv.facts.bytes : 0;
  const std::size_t send_bytes = out.packed && !in_place ? send->count * send->facts.bytes : 0;
  CROSSRAIL_TRY(memory_.packed.reserve(recv_bytes + send_bytes));
  std::byte* const row = memory_.packed.memory.get();
  recv_row_ = recv_.packed ? row : first(recv_);
  std::byte* const send_row = out.packed ? row + (in_place ? 0 : recv_bytes) : first(out);
  if (out.packed) CROSSRAIL_TRY(out.apart ? gather_pieces(send_row, *out.side) : pack(typed(out), send_row));
  buffers = {send_row, recv_row_};
  buffers.send_gaps = out.gaps && !out.packed ? out.side->facts.layout : nullptr;
  buffers.recv_gaps = recv_.gaps && !recv_.packed ? recv_.side->facts.layout : nullptr;
  return {};
}

Status PackedBuffers::close() {
  if (recv_.packed || recv_.staged) return close_rows();
  memory_.shrink();
  return {};
}

Status PackedBuffers::close_rows() {
  if (recv_.packed) CROSSRAIL_TRY(recv_.apart ? scatter_pieces(recv_row_, *recv_.side) : unpack(recv_row_, typed(recv_)));
  Status copied;
  if (recv_.staged) {
    for (const SidePart& part : parts_of(*recv_.side)) copied = copy_part(static_cast<std::byte*>(recv_.side->address), recv_.host, part);
  }
  memory_.shrink();
  return copied;
}

}  // namespace crossrail::mpi
