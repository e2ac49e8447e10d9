#include "shared_device/shared_device.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "base/bytes.h"
#include "collectives/sequence_counters.h"

namespace crossrail::shared_device {

SharedDevice::SharedDevice(Slot& slot, const std::vector<int>& keys)
    : slot_(slot), members_(slot.owner.topology, keys), each_launches_(slot.owner.settings.one_launcher == 0) {
  plan_.topology = &slot.owner.topology;
  plan_.group = plan_.topology->world();
  plan_.links = slot.links.get();
  plan_.control = slot.control.get();
  plan_.settings = &slot.owner.settings;
  plan_.slot_scratch = &slot.scratch;
  plan_.remote_partners.resize(static_cast<std::size_t>(slot.owner.topology.size));
  plan_.algorithm = "shared_device";
  slot_.devices.reset();  // It was made for calls on the program's own buffers.
  if (slot_.control == nullptr || settings().devices == 0) return;
  const DeviceLimits limits{static_cast<int>(settings().multiprocessors), 0, !each_launches_};
  slot_.devices = std::make_unique<DeviceSharing>(DeviceSharing::Config{control().extension(), slot_.exported_allocations, 0, {0, settings().device_mapped_bytes}, limits}, control(), *slot_.links);
  slot_.devices->do_without_modules();
  std::vector<int> launcher_of = members_.leader_of();
  if (each_launches_) std::iota(launcher_of.begin(), launcher_of.end(), 0);
  queue().launch_by(launcher_of);
}

SharedDevice::~SharedDevice() {
  if (slot_.devices == nullptr) return;
  queue().drain();
  if (rooms_on_device_ != nullptr) queue().module().close_pages(queue().handle(), room(0));
  slot_.devices.reset();
}

std::uint64_t SharedDevice::hash_of(const CallFacts& facts) { return mix_word(hash_bytes(facts.what, std::strlen(facts.what)), facts.hash); }

PlanSummary SharedDevice::moved() const {
  const std::size_t rooms = static_cast<std::size_t>(topology().node_size()) * kRooms * room_bytes_;
  return {false, plan_.shape.collective, plan_.algorithm, plan_.shape.block_bytes, topology().size, topology().node_count(),
          plan_.last, plan_.remote_partner_count, rooms, room_bytes_, plan_.calls};
}

Status SharedDevice::open() {
  if (alone()) return {};
  if (slot_.devices == nullptr) return failed(Code::unsupported, "the ranks of a node share no memory, or CROSSRAIL_DEVICES=0 forbids it");
  return call({"crossrail_shared_device_create", 0, 0}, [this]() -> Status {
    const Status mine = make_rooms();
    const std::string why = mine.what;
    std::uint32_t worst = 0;
    CROSSRAIL_TRY(agree_on_largest(slot_, static_cast<std::uint32_t>(mine.code), worst));
    const auto code = static_cast<Code>(worst);
    if (code == Code::ok) return {};
    return failure(code, "%s", mine.code == code ? why.c_str() : "another rank has no memory for it, or no more communicators");
  });
}

Status SharedDevice::rooms_are_filled(std::uint64_t epoch) {
  control().post(reduced, epoch);
  for (const int rank : queue().launched()) {
    if (rank != topology().node_rank()) CROSSRAIL_TRY(control().wait(rank, reduced, epoch));
  }
  return {};
}

Status SharedDevice::begin_copies(const std::vector<crossrail_block>& blocks, DeviceWork& work) {
  const bool kernels = !queue().launched().empty() && queue().has_kernels();
  return queue().begin_exchange(blocks, kernels ? CROSSRAIL_ENGINE_KERNEL : CROSSRAIL_ENGINE_COPY, work, Launch::one_a_device);
}

// Makes rooms of whole pages, because a device gets those of the ranks for which its process launches.
Status SharedDevice::make_rooms() {
  const Status opened = slot_.links->open_messages();
  const auto ranks = static_cast<std::size_t>(topology().node_size());
  const std::uint64_t room = topology().scratch_bytes / (kRooms * static_cast<std::uint64_t>(topology().largest_node()));
  room_bytes_ = std::max<std::uint64_t>(kPageBytes, std::min(room, settings().shared_part_bytes) / kPageBytes * kPageBytes);
  const Status shared = slot_.links->share(ranks * kRooms * room_bytes_ + kPageBytes, slot_.node_memory);
  const Status reserved = slot_.scratch.reserve(room_bytes_);
  CROSSRAIL_TRY(opened);
  CROSSRAIL_TRY(shared);
  CROSSRAIL_TRY(reserved);
  const auto at = reinterpret_cast<std::uintptr_t>(slot_.node_memory.data);
  rooms_ = slot_.node_memory.data + (round_up(at, kPageBytes) - at);
  return {};
}

}  // namespace crossrail::shared_device
