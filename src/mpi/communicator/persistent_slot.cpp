#include "mpi/communicator/persistent_slot.h"

#include <algorithm>
#include <utility>

#include "device/device.h"
#include "mpi/communicator/communicators.h"
#include "mpi/communicator/mpi_exchange.h"
#include "mpi/communicator/mpi_links.h"

namespace crossrail::mpi {
namespace {

// The call numbers of a later slot with the same number follow all those of the earlier one, whose notices may still be under way.
constexpr std::uint64_t kCallsBetweenSlots = std::uint64_t{1} << 32;
// Programs that make a request for only a call or two rarely have more at a time.
constexpr std::size_t kMostIdle = 8;

const std::shared_ptr<MpiPeers>& peers_of(const CommunicatorRecord& record) {
  return static_cast<MpiLinks&>(*record.communicator->slot().links).peers();
}

std::unique_ptr<PersistentSlot> make(CommunicatorRecord& record, const PersistentSlots::Next& next, MpiExchange& exchange) {
  Communicator& communicator = *record.communicator;
  const Topology& topology = communicator.topology;
  auto made = std::make_unique<PersistentSlot>(record, next.number);
  const auto& peers = peers_of(record);
  MpiLinks::Placement placement{next.number, communicator.settings.patience_ms, topology.oversubscribed};
  placement.calls_before = next.had_before * kCallsBetweenSlots;
  auto links = std::make_unique<MpiLinks>(peers, placement);
  MpiLinks& its_links = *links;
  made->slot = std::make_unique<Slot>(communicator, std::move(links), 1 + 1);  // A slot keeps plans for host and for device memory.
  if (topology.shared_segment) {
    const ControlBlockLayout layout = pending_layout(topology.node_size(), communicator.settings);
    if (!share_segment(made->memory, {topology, peers->segment_kind, layout.total_bytes()}, exchange)) return nullptr;
    communicator.place_slot(*made->slot, {made->memory.data(), layout, exported_allocations(communicator.settings, true)});
    its_links.watch(made->slot->control.get());
  }
  if (exchange.finish(true) == MpiExchange::End::refused) return nullptr;
  communicator.add_persistent(*made->slot);
  return made;
}

// With a device driver, keeping a slot does not pay: what it knows of devices would have to be found out again, and a plan would hold device memory.
bool worth_keeping(const PersistentSlot& slot) {
  const Communicator& communicator = *slot.record.communicator;
  const bool unbroken = !communicator.broken && (slot.slot->control == nullptr || !slot.slot->control->broken_up());
  return unbroken && !slot.record.freed && !finalizing() && !device::driver_present();
}

}  // namespace

PersistentSlot::~PersistentSlot() {
  if (slot != nullptr) record.communicator->remove_persistent(*slot);
  record.persistent.in_use(number, false);
}

PersistentSlots::Offer PersistentSlots::offer() {
  const std::lock_guard lock(mutex_);
  Offer mine{Numbers().set(), in_use_[next().number]};
  if (device::driver_present()) return mine;
  for (const auto& one : idle_) mine.not_idle.reset(one->number);
  return mine;
}

void PersistentSlots::in_use(std::size_t number, bool is) {
  const std::lock_guard lock(mutex_);
  in_use_.set(number, is);
}

std::unique_ptr<PersistentSlot> PersistentSlots::take(std::size_t number) {
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(idle_.begin(), idle_.end(), [number](const auto& one) { return one->number == number; });
  std::unique_ptr<PersistentSlot> taken = std::move(*at);
  idle_.erase(at);
  return taken;
}

bool PersistentSlots::keep(std::unique_ptr<PersistentSlot>& slot) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() >= kMostIdle) return false;
  idle_.push_back(std::move(slot));
  return true;
}

void GiveBack::operator()(PersistentSlot* slot) const {
  std::unique_ptr<PersistentSlot> whole(slot);
  if (!worth_keeping(*whole)) return;
  whole->slot->pending = false;
  whole->slot->run_on(nullptr);
  whole->slot->packing = {};
  (void)whole->record.persistent.keep(whole);
}

PersistentSlotInUse open_persistent_slot(CommunicatorRecord& record, Code able) {
  MpiExchange exchange(record.comm, record.communicator->topology.size, 0);
  PersistentSlots& slots = record.persistent;
  PersistentSlots::Offer offers = slots.offer();
  if (!exchange.any(able == Code::ok, &offers, sizeof offers)) return nullptr;
  // If a rank has not received the offers, it says so in the last step of whichever branch.
  if (!offers.not_idle.all()) {
    if (exchange.finish(true) == MpiExchange::End::refused) return nullptr;
    return PersistentSlotInUse(slots.take((~offers.not_idle)._Find_first()).release());
  }
  if (offers.next_in_use) {
    if (exchange.finish(true) != MpiExchange::End::refused) slots.pass();
    return nullptr;
  }
  const PersistentSlots::Next next = slots.next();
  slots.in_use(next.number, true);
  PersistentSlotInUse made(make(record, next, exchange).release());
  if (made != nullptr) slots.pass();
  return made;
}

}  // namespace crossrail::mpi
