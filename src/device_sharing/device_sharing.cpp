#include "device_sharing/device_sharing.h"

#include <algorithm>
#include <cstdint>

#include "base/own_thread.h"
#include "device/device.h"

namespace crossrail {
namespace {

// The blocks of a v-call may lie in several allocations, and in host memory between them.
bool covers(const crossrail_memory& facts, const DeviceSide& side) {
  const auto begin = reinterpret_cast<std::uintptr_t>(side.address), base = reinterpret_cast<std::uintptr_t>(facts.base);
  return facts.kind == CROSSRAIL_MEMORY_DEVICE && begin >= base && side.bytes <= facts.bytes && begin - base <= facts.bytes - side.bytes;
}

}  // namespace

DeviceSharing::DeviceSharing(const Config& config, ControlBlock& control, Links& links)
    : control_(control),
      links_(links),
      region_(config.region, control.node_size(), config.entries),
      mapped_limits_(config.mapped),
      queue_(region_, config.limits, control, links),
      staging_({config.staging_bytes, control.node_size()}, queue_),
      message_room_(queue_),
      rendezvous_(region_, control),
      all_(static_cast<std::size_t>(control.node_size())) {}

DeviceSharing::~DeviceSharing() {
  if (streams_.has_value()) streams_->stop_watching();
  queue_.drain();
  mappings_.reset();
  receive_buffers_.reset();
  streams_.reset();
  staging_.release();
  message_room_.release();
  queue_.close();
}

// A program may load its driver at any time, so all ranks ask again at their calls 1, 2, 4, 8, ...
Status DeviceSharing::look_for_modules() {
  if (mappings_.has_value()) {
    mappings_->pass_call();
    return {};
  }
  const crossrail_device_module* const module = device::module();
  Code worst = Code::ok;
  CROSSRAIL_TRY(control_.agree(device::can_share(module) ? Code::ok : Code::unsupported, worst));
  if (worst != Code::ok) return {};
  queue_.use_module(module);
  mappings_.emplace(region_, control_, mapped_limits_);
  const ReceiveBuffers::Parts parts{queue_, rendezvous_, *mappings_};
  receive_buffers_.emplace(parts, control_);
  streams_.emplace(parts, control_, links_);
  return {};
}

ExportedSide DeviceSharing::stage(MappedSide which) {
  if (no_staging_ || !staging_.reserve(which, block_bytes_)) return {};
  ExportedSide side = mappings_->export_side(staging_.facts(which), staging_.memory(which));
  if (side.residency == Residency::host) return {};
  side.residency = Residency::staged;
  chunk_ = std::min(chunk_, staging_.chunk(which));
  return side;
}

// Exports the side where the program has it, or from memory of ours if it cannot be mapped.
ExportedSide DeviceSharing::share(const crossrail_memory& facts, const void* address, MappedSide which) {
  const ExportedSide exported = mappings_->export_side(facts, address);
  if (exported.residency == Residency::host) return stage(which);
  staging_.not_needed(which);
  return exported;
}

// Finds where a side of this rank lies for the others.
ExportedSide DeviceSharing::locate(const DeviceSide& side, MappedSide which, Wanted wanted) {
  if (side.empty) return {Residency::empty, 0, 0, 0};
  crossrail_memory facts{};
  queue_.module().describe(side.address, side.bytes, &facts);
  if (facts.kind == CROSSRAIL_MEMORY_HOST || !queue_.open(facts) || !queue_.reaches(facts)) return {};
  if (places_ != nullptr && !covers(facts, side)) return {};
  if (side.gaps && (no_staging_ || !queue_.has_kernels())) return {};
  if (side.ours || (side.gaps && which == MappedSide::send && wanted.mapped)) return stage(which);
  if (!wanted.mapped) return {Residency::device, 0, 0, 0};
  if (wanted.stays ? mappings_->can_pin(facts) : mappings_->worth_mapping(facts)) return share(facts, side.address, which);
  const ExportedSide staged = stage(which);  // There may be no memory for that.
  return staged.residency == Residency::host && !wanted.stays && !no_staging_ ? share(facts, side.address, which) : staged;
}

bool DeviceSharing::equipped_for(const DeviceNeeds& needs) {
  const crossrail_device_module& module = queue_.module();
  if (needs.reduction.operation != 0 && !queue_.combines(needs.reduction)) return false;
  for (const void* const array : needs.arrays) {
    crossrail_memory facts{};
    if (array != nullptr) module.describe(array, 1, &facts);
    if (array != nullptr && facts.kind != CROSSRAIL_MEMORY_HOST && !queue_.reaches(facts)) return false;
  }
  return needs.room.bytes == 0 || message_room_.reserve(needs.room.bytes, needs.room.where);
}

DeviceDescriptor DeviceSharing::describe(const DeviceCall& call, MappedSide wanted) {
  places_ = call.places;
  no_staging_ = call.needs.no_staging;
  block_bytes_ = call.block_bytes;
  chunk_ = places_ == nullptr ? call.block_bytes : SIZE_MAX;
  DeviceDescriptor mine;
  mine.recv = locate(call.recv, MappedSide::recv, {includes(wanted, MappedSide::recv), call.stays});
  if (mine.recv.residency != Residency::host) mine.send = locate(call.send, MappedSide::send, {includes(wanted, MappedSide::send), call.stays});
  mine.send.in_place = call.send.address == call.recv.address;
  // Nobody could say on which device a rank would be whose sides are both empty.
  if (!queue_.lives() || (mine.on_device() && !equipped_for(call.needs))) mine = {};
  return mine;
}

Status DeviceSharing::exchange_descriptors(const DeviceCall& call, MappedSide wanted, bool& on_devices) {
  mappings_->begin_call();
  DeviceDescriptor mine = describe(call, wanted);
  mine.withdrawn = mappings_->withdrawn();
  mine.chunk = chunk_;
  mine.longest = longest_ = block_bytes_;
  for (int peer = 0; places_ != nullptr && peer < control_.node_size(); ++peer) {
    rendezvous_.my_places()[peer] = places_[call.node == nullptr ? peer : (*call.node)[peer]];
  }
  CROSSRAIL_TRY(rendezvous_.exchange_descriptors(mine, all_));
  mappings_->drop_withdrawn(all_);
  on_devices = true;
  for (const DeviceDescriptor& one : all_) {
    on_devices = on_devices && one.on_device();
    chunk_ = std::min(chunk_, one.chunk);
    longest_ = std::max(longest_, one.longest);
  }
  return {};
}

Status DeviceSharing::map_peers(MappedSide sides) {
  for (const MappedSide side : {MappedSide::recv, MappedSide::send}) {
    if (includes(sides, side)) CROSSRAIL_TRY(mappings_->map(side, all_, queue_.opened()));
  }
  return {};
}

// The program's thread launches nothing before the call returns, so what the module has left for an idle device may be done. It is not done
// on a thread of crossrail's own, beside which the program runs.
void DeviceSharing::end_call() {
  mappings_->end_call();
  if (!on_own_thread()) queue_.settle();
}

void DeviceSharing::keep_mapped(MappedSide sides) {
  for (const MappedSide side : {MappedSide::recv, MappedSide::send}) {
    if (includes(sides, side)) mappings_->keep(side, all_);
  }
}

std::byte* DeviceSharing::receives_at(int owner, int peer, std::size_t from) const {
  const ExportedSide& side = all_[static_cast<std::size_t>(owner)].recv;
  std::byte* const base = mappings_->at(owner, side);
  return side.residency == Residency::staged ? base + static_cast<std::size_t>(peer) * chunk_ : base + place(owner, peer).received_at + from;
}

crossrail_elements DeviceSharing::receives(int owner, int peer, std::size_t from) const {
  const DevicePlace& its = place(owner, peer);
  const bool row = its.element_bytes == 0 || all_[static_cast<std::size_t>(owner)].recv.residency == Residency::staged;
  if (row) return device::row(receives_at(owner, peer, from));
  return {receives_at(owner, peer, 0), its.element_bytes, its.extent, from, nullptr, 0, 0, its.runs};
}

const std::byte* DeviceSharing::sends_from(int owner, int peer, std::size_t from) const {
  const ExportedSide& side = all_[static_cast<std::size_t>(owner)].send;
  const std::byte* const base = mappings_->at(owner, side);
  return side.residency == Residency::staged ? base + static_cast<std::size_t>(peer) * chunk_ : base + place(owner, peer).sent_from + from;
}

bool DeviceSharing::any_staged(MappedSide side) const {
  return std::any_of(all_.begin(), all_.end(), [side](const DeviceDescriptor& one) { return one.side(side).residency == Residency::staged; });
}

std::byte* DeviceSharing::block(const BlockAddress& which) const {
  const ExportedSide& side = all_[static_cast<std::size_t>(which.peer)].side(which.side);
  std::byte* const base = mappings_->at(which.peer, side);
  return side.residency == Residency::staged ? base + which.number * chunk_ : base + which.begin;
}

}  // namespace crossrail
