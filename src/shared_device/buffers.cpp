// This is the part of SharedDevice that deals with its buffers, from a leader's memory to what the ranks of its node have mapped.

#include "base/bytes.h"
#include "device/device.h"
#include "shared_device/shared_device.h"

namespace crossrail::shared_device {

// It says why a buffer cannot be opened. All ranks agree on the largest reason.
enum class SharedDevice::Reason : std::uint32_t {
  none, differing_bytes, nothing, no_module, host_memory, too_short, no_queue, elsewhere, no_pages, not_mapped
};

Status SharedDevice::refusal(Reason reason) {
  const auto wrong = [](const char* what) { return failed(Code::invalid, what); };
  const auto cannot = [](const char* what) { return failed(Code::unsupported, what); };
  switch (reason) {
    case Reason::none: return {};
    case Reason::differing_bytes: return wrong("not all ranks say the same length of the buffer");
    case Reason::nothing: return wrong("a leader has given no memory, or some process where each launches its own work");
    case Reason::no_module: return cannot("a leader's process has no GPU driver, or crossrail no module for it");
    case Reason::host_memory: return wrong("a buffer is in host memory, which other processes cannot open: MPI_Allreduce takes it");
    case Reason::too_short: return wrong("a leader's memory ends before its buffer does");
    case Reason::no_queue: return cannot("a device refuses another stream");
    case Reason::elsewhere: return wrong("a process has given memory of another device than before, or its device has been reset");
    case Reason::no_pages: return cannot("a device cannot reach host memory");
    case Reason::not_mapped: return cannot("other processes cannot open a buffer's memory, and CROSSRAIL_ONE_LAUNCHER=0 asks them to");
  }
  return {};
}

namespace {

bool holds(const crossrail_memory& facts, const OwnMemory& mine) {
  const auto begin = reinterpret_cast<std::uintptr_t>(mine.address), base = reinterpret_cast<std::uintptr_t>(facts.base);
  return facts.bytes == 0 || (begin >= base && mine.bytes <= facts.bytes && begin - base <= facts.bytes - mine.bytes);
}

}  // namespace

Status SharedDevice::agree_on_reason(Reason mine) {
  auto worst = static_cast<std::uint32_t>(mine);
  if (!alone()) CROSSRAIL_TRY(agree_on_largest(slot_, worst, worst));
  return refusal(static_cast<Reason>(worst));
}

SharedDevice::Reason SharedDevice::look_at(const OwnMemory& mine, crossrail_memory& facts) {
  const bool needed = members_.leads() || each_launches_;
  if (mine.address == nullptr || mine.bytes == 0) return needed ? Reason::nothing : Reason::none;
  const crossrail_device_module* const module = device::module();
  if (!device::can_share(module)) return Reason::no_module;
  module->describe(mine.address, members_.leads() ? mine.bytes : 1, &facts);
  if (facts.kind == CROSSRAIL_MEMORY_HOST) return Reason::host_memory;
  if (members_.leads() && !holds(facts, mine)) return Reason::too_short;
  return alone() ? Reason::none : prepare_device(facts);
}

// At the first buffer, opens a queue near it, and the rooms of those for whom this rank launches.
SharedDevice::Reason SharedDevice::prepare_device(const crossrail_memory& facts) {
  queue().use_module(device::module());
  if (!queue().open(facts)) return Reason::no_queue;
  if (!queue().reaches(facts)) return Reason::elsewhere;
  if (queue().launched().empty() || rooms_on_device_ != nullptr) return Reason::none;
  const std::size_t bytes = queue().launched().size() * kRooms * room_bytes_;
  void* mapped = nullptr;
  if (queue().module().open_pages(queue().handle(), room(0), bytes, &mapped) != nullptr) return Reason::no_pages;
  rooms_on_device_ = static_cast<std::byte*>(mapped);
  return Reason::none;
}

Status SharedDevice::open_buffer(const OwnMemory& mine, Buffer& buffer) {
  buffer = {};
  buffer.number = ++buffers_;
  buffer.bytes = mine.bytes;
  return call({"crossrail_shared_buffer_open", buffer.number, 0}, [&] { return check_buffer(mine, buffer); });
}

// The lengths are equal if the largest is as large as the smallest.
Status SharedDevice::check_buffer(const OwnMemory& mine, Buffer& buffer) {
  crossrail_memory facts{};
  CROSSRAIL_TRY(agree_on_reason(look_at(mine, facts)));
  if (members_.leads()) buffer.memory = static_cast<std::byte*>(mine.address);
  if (alone()) return {};
  for (const std::uint32_t half : {static_cast<std::uint32_t>(mine.bytes), static_cast<std::uint32_t>(std::uint64_t{mine.bytes} >> 32)}) {
    std::uint32_t largest = half, smallest = ~half;
    CROSSRAIL_TRY(agree_on_largest(slot_, largest, largest));
    CROSSRAIL_TRY(agree_on_largest(slot_, smallest, smallest));
    if (largest != ~smallest) return refusal(Reason::differing_bytes);
  }
  return share_buffer(facts, buffer);
}

// Leaders export the memory once, and each rank that has a queue maps that of all leaders of its node. Where that cannot be, a leader alone
// reaches its own.
Status SharedDevice::share_buffer(const crossrail_memory& facts, Buffer& buffer) {
  DeviceDescriptor mine;
  mine.send.residency = mine.recv.residency = Residency::empty;
  slot_.devices->mappings().begin_call();
  const bool exported = members_.leads() && facts.shareable != 0 && slot_.devices->mappings().can_pin(facts);
  if (members_.leads()) mine.recv = exported ? slot_.devices->mappings().export_side(facts, buffer.memory) : ExportedSide{};
  mine.withdrawn = slot_.devices->mappings().withdrawn();
  buffer.sides.resize(static_cast<std::size_t>(control().node_size()));
  CROSSRAIL_TRY(slot_.devices->rendezvous().exchange_descriptors(mine, buffer.sides));
  slot_.devices->mappings().drop_withdrawn(buffer.sides);
  bool mapped = true;
  for (const DeviceDescriptor& one : buffer.sides) mapped = mapped && one.on_device();
  const Status opened = mapped ? slot_.devices->mappings().map(MappedSide::recv, buffer.sides, queue().opened()) : Status{};
  if (!opened.ok() && opened.code != Code::unsupported) return opened;
  buffer.mapped = mapped && opened.ok();
  if (buffer.mapped) keep(buffer);
  const bool reached = buffer.mapped || (members_.leaders().size() == 1 && !each_launches_);
  const bool few = members_.leaders().size() <= CROSSRAIL_MOST_OPERANDS;
  const bool combines = few && (queue().launched().empty() || queue().has_kernels());
  std::uint32_t worst = buffer.mapped ? 0 : 1;
  if (each_launches_) CROSSRAIL_TRY(agree_on_largest(slot_, worst, worst));
  if (each_launches_ && worst != 0) {
    let_go(buffer);
    return refusal(Reason::not_mapped);
  }
  std::uint32_t without_lanes = reached && combines ? 0 : 1;
  CROSSRAIL_TRY(agree_on_largest(slot_, without_lanes, without_lanes));
  buffer.lanes = without_lanes == 0;
  return {};
}

void SharedDevice::keep(Buffer& buffer) {
  slot_.devices->mappings().keep(MappedSide::recv, buffer.sides);
  for (const int leader : members_.leaders()) ++uses_[{leader, side_of(buffer, leader).entry}];
  const int leader = members_.node_leader(members_.device());
  if (!members_.leads()) buffer.memory = slot_.devices->mappings().at(leader, side_of(buffer, leader));
}

// An allocation may hold several buffers.
void SharedDevice::let_go(Buffer& buffer) {
  for (const int leader : members_.leaders()) {
    if (!buffer.mapped) break;
    const auto uses = uses_.find({leader, side_of(buffer, leader).entry});
    if (--uses->second > 0) continue;
    uses_.erase(uses);
    slot_.devices->mappings().let_go(leader, side_of(buffer, leader));
  }
  buffer.mapped = buffer.lanes = false;
}

Status SharedDevice::close_buffer(Buffer& buffer) {
  if (alone()) return {};
  let_go(buffer);
  return call({"crossrail_shared_buffer_close", buffer.number, 0}, [this] { return control().barrier(); });
}

void SharedDevice::await_copies(const Buffer& buffer) const {
  crossrail_memory facts{};
  if (members_.leads()) device::module()->describe(buffer.memory, buffer.bytes, &facts);
}

}  // namespace crossrail::shared_device
