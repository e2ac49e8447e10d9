#include "comm/communicator.h"

#include <algorithm>
#include <utility>

namespace crossrail {

Status PackingMemory::reserve_staged(GrowableBuffer& staged, std::size_t bytes) {
  largest_staged_ = std::max(largest_staged_, bytes);
  return staged.reserve(bytes);
}

void PackingMemory::shrink_what_is_held() {
  constexpr std::size_t kMostKept = std::size_t{4} << 20, kMostStagedKept = std::size_t{256} << 20;
  constexpr int kWhile = 64;  // It counts calls.
  if (packed.bytes > kMostKept) packed = {};
  small_calls_ = std::exchange(largest_staged_, 0) > kMostKept ? 0 : std::min(small_calls_ + 1, kWhile);
  for (GrowableBuffer* one : {&staged_send, &staged_recv}) {
    if (one->bytes > kMostStagedKept || (one->bytes > kMostKept && small_calls_ == kWhile)) *one = {};
  }
}

// In a half of a slot for pending calls, a rank has at least so many bytes, and so many for each rank of the node. Longer blocks are not staged.
constexpr std::uint64_t kPendingBytes = 128 * 1024;
constexpr std::uint64_t kPendingBytesARank = 12 * 1024;

// Calls in a stream's order, which keep their memory mapped, are not pending ones. There are many slots for these.
int exported_allocations(const Settings& settings, bool pending) {
  constexpr int kMostOfPending = 256;
  return static_cast<int>(std::clamp<std::uint64_t>(settings.device_buffers, kLeastExported, pending ? kMostOfPending : kMostExported));
}

ControlBlockLayout pending_layout(int node_size, const Settings& settings) {
  const std::size_t devices = settings.devices == 0 ? 0 : device_lines_bytes(node_size, exported_allocations(settings, true));
  const auto ranks = static_cast<std::uint64_t>(node_size);
  const std::uint64_t most = 2 * ranks * std::max(kPendingBytes, ranks * kPendingBytesARank);
  return control_block_layout(node_size, std::min(most, settings.scratch_bytes / std::max<std::uint64_t>(1, settings.slots)), devices);
}

void settle(Topology& topology, Settings& settings) {
  if (settings.scratch_bytes == 0) settings.scratch_bytes = useful_scratch_bytes(topology.largest_node());
  topology.scratch_bytes = settings.scratch_bytes;
  topology.rank_order = settings.reproducible != 0;
}

SegmentLayout segment_layout(int node_size, const Settings& settings) {
  const std::size_t devices = settings.devices == 0 ? 0 : device_lines_bytes(node_size, exported_allocations(settings, false));
  SegmentLayout layout;
  layout.pending_slots = static_cast<int>(settings.slots);
  layout.blocking = control_block_layout(node_size, settings.scratch_bytes, devices);
  if (layout.pending_slots > 0) layout.pending = pending_layout(node_size, settings);
  return layout;
}

void Communicator::open_slots(const std::function<std::unique_ptr<Links>(int slot)>& make_links) {
  guard = SpeedGuard(settings.guard_calls);
  for (int number = 0; number <= static_cast<int>(settings.slots); ++number) {
    slots.push_back(std::make_unique<Slot>(*this, make_links(number), settings.plan_count));
    slots.back()->pending = number > 0;
  }
}

void Communicator::place_slot(Slot& slot, const SlotPart& part) {
  slot.control = std::make_unique<ControlBlock>(
      ControlBlock::Placement{part.segment, part.layout, topology.node_ranks(), topology.oversubscribed, settings.patience_ms,
                              part.epochs_before},
      *slot.links);
  slot.exported_allocations = part.exported_allocations;
  if (settings.devices == 0 || (slot.pending && memory_only)) return;
  const DeviceLimits limits{static_cast<int>(settings.multiprocessors), static_cast<std::uint32_t>(settings.resident_us), settings.one_launcher != 0};
  slot.devices = std::make_unique<DeviceSharing>(
      DeviceSharing::Config{slot.control->extension(), slot.exported_allocations, settings.device_scratch_bytes,
                            {settings.device_staged_uses, settings.device_mapped_bytes}, limits},
      *slot.control, *slot.links);
}

void Communicator::place_slots(std::byte* segment, std::uint64_t epochs_before) {
  const SegmentLayout layout = segment_layout(topology.node_size(), settings);
  for (const auto& one : slots) {
    const ControlBlockLayout& its = one->pending ? layout.pending : layout.blocking;
    place_slot(*one, {segment, its, exported_allocations(settings, one->pending), epochs_before});
    segment += its.total_bytes();
  }
}

Status Communicator::place_alone() {
  const std::size_t bytes = segment_layout(1, settings).total_bytes();
  Status made = memory.create("memfd", bytes);
  if (!made.ok()) made = memory.create("shm", bytes);
  CROSSRAIL_TRY(std::move(made));
  memory.seal();
  place_slots(memory.data());
  return {};
}

void Communicator::add_persistent(Slot& slot) {
  const std::lock_guard lock(persistent_mutex_);
  persistent_.push_back(&slot);
}

void Communicator::remove_persistent(const Slot& slot) {
  const std::lock_guard lock(persistent_mutex_);
  std::erase(persistent_, &slot);
}

void Communicator::break_up(Code code, const Slot& where) {
  broken = true;
  const auto tell = [&](Slot& one) {
    const auto met = &one == &where ? ControlBlock::Met::here : ControlBlock::Met::on_another_slot;
    if (one.control != nullptr) one.control->break_up(code, met);
  };
  for (const auto& one : slots) tell(*one);
  const std::lock_guard lock(persistent_mutex_);
  for (Slot* one : persistent_) tell(*one);
}

}  // namespace crossrail
