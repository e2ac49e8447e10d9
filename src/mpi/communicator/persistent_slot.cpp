#include "mpi/communicator/persistent_slot.h"

#include <algorithm>

#include "mpi/communicator/mpi_exchange.h"
#include "mpi/communicator/mpi_links.h"

namespace crossrail::mpi {
namespace {

constexpr std::size_t kFirst = 1 + Communicator::kMostPendingSlots;
constexpr std::size_t kMost = MpiLinks::kMostSlots - kFirst;
// Calls of a later slot of the same number come after all of the earlier one's, of which notices may be on their way.
constexpr std::uint64_t kCallsBetweenSlots = std::uint64_t{1} << 32;

}  // namespace

PersistentSlot::~PersistentSlot() {
  std::erase(record.communicator->persistent, slot.get());
  record.persistent_in_use[number] = false;
}

std::unique_ptr<PersistentSlot> open_persistent_slot(CommunicatorRecord& record, Code able) {
  Communicator& communicator = *record.communicator;
  const Topology& topology = communicator.topology;
  MpiExchange exchange(record.comm, topology.size, 0);
  // The same number everywhere: tags are made of it.
  const std::size_t made_before = record.persistent_made++;
  const std::size_t number = kFirst + made_before % kMost;
  record.persistent_in_use.resize(MpiLinks::kMostSlots);
  const bool is_free = !record.persistent_in_use[number];
  if (!exchange.all(is_free && able == Code::ok)) return nullptr;
  record.persistent_in_use[number] = true;
  auto made = std::make_unique<PersistentSlot>(record, number);
  const auto& peers = static_cast<MpiLinks&>(*communicator.slot().links).peers();
  MpiLinks::Placement placement{number, communicator.settings.patience_ms, topology.oversubscribed};
  placement.calls_before = made_before / kMost * kCallsBetweenSlots;
  auto links = std::make_unique<MpiLinks>(peers, placement);
  MpiLinks& its_links = *links;
  made->slot = std::make_unique<Slot>(communicator, std::move(links), 1 + 1);  // plans for host and for device memory
  if (topology.shared_segment) {
    const ControlBlockLayout layout = pending_layout(topology.node_size(), communicator.settings);
    if (!share_segment(made->memory, {topology, peers->segment_kind, layout.total_bytes()}, exchange)) return nullptr;
    communicator.place_slot(*made->slot, {made->memory.data(), layout});
    its_links.watch(made->slot->control.get());
  }
  if (exchange.finish(true) == MpiExchange::End::refused) return nullptr;
  communicator.persistent.push_back(made->slot.get());
  return made;
}

}  // namespace crossrail::mpi
