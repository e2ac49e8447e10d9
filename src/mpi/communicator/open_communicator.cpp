#include "mpi/communicator/open_communicator.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "base/log.h"
#include "device/device.h"
#include "engine/opened_together.h"
#include "mpi/observe/counters.h"
#include "mpi/communicator/helper_team.h"
#include "mpi/communicator/info_keys.h"
#include "mpi/communicator/mpi_links.h"
#include "mpi/library/pmpi.h"
#include "mpi/library/polled_requests.h"
#include "selection/selection.h"
#include "topology/mpi_version.h"
#include "transport/exchange.h"
#include "transport/process_memory.h"

namespace crossrail::mpi {
namespace {

// With CROSSRAIL_LOG=2 it reports how long each step of the set-up takes.
class Stopwatch {
 public:
  explicit Stopwatch(bool speaks) : speaks_(speaks && log_enabled(LogLevel::detail)) {}
  void note(const char* done) {
    if (!speaks_) return;
    const std::int64_t now = now_ns();
    log_line(LogLevel::detail, "set-up: %s took %.1f us", done, static_cast<double>(now - since_) * 1e-3);
    since_ = now;
  }

 private:
  bool speaks_;
  std::int64_t since_ = now_ns();
};

// The rank is -1 if there is no world (sessions).
World look_at_world() {
  World world;
  int initialized = 0;
  (void)pmpi().Initialized(&initialized);
  if (initialized == 0) return world;
  (void)pmpi().Comm_rank(handles().comm_world, &world.rank);
  (void)pmpi().Comm_size(handles().comm_world, &world.size);
  return world;
}

// A process opens many communicators with the same settings, so each sentence is printed only once.
void say_once(const std::string& sentence) {
  static std::mutex mutex;
  static std::string& said = *new std::string;
  const std::lock_guard lock(mutex);
  if (sentence != said) log_line(LogLevel::error, "%s", sentence.c_str());
  said = sentence;
}

// Returns whether this process may read the memory of another one. It tries it instead of guessing, and remembers the result.
bool may_read(const Location& at) {
  static std::mutex mutex;
  static std::map<std::uint64_t, bool>& answers = *new std::map<std::uint64_t, bool>;
  const std::lock_guard lock(mutex);
  const auto [answer, fresh] = answers.try_emplace(at.probe_value, false);
  if (fresh) {
    std::uint64_t value = 0;
    answer->second =
        read_process(at.pid, &value, at.probe_address, sizeof value).ok() && value == at.probe_value;
  }
  return answer->second;
}

bool may_read_peers(const Topology& topology, const std::vector<Location>& locations) {
  for (const int peer : topology.node_ranks()) {
    const Location& at = locations[peer];
    if (at.pid_space != locations[topology.rank].pid_space || !may_read(at)) return false;
  }
  return true;
}

// Completes `mine`. Returns false if some rank cannot tell a device pointer from a host pointer.
bool exchange_locations(Exchange& exchange, Location& mine, const std::string& of_info, std::vector<Location>& locations) {
  if (!of_info.empty()) mine.settings = hash_word(mine.settings, hash_bytes(of_info.data(), of_info.size()));
  mine.blind = device::driver_without_module() ? 1 : 0;
  mine.devices = device::driver_may_come() ? 1 : 0;
  mine.mpi = hash_bytes(library().version, std::strlen(library().version));
  tell_of_helpers(mine);
  mine.advancing = who_advances();
  if (mine.advancing == Advancing::mover && (process_settings().slots == 0 || !mover_is_there())) mine.advancing = Advancing::nobody;
  if (!exchange.gather(mine, locations)) return false;
  for (const Location& at : locations) {
    if (at.blind != 0) return false;
  }
  return true;
}

// Returns an empty string if the ranks run different MPI libraries.
std::string mpi_of_all(const std::vector<Location>& locations) {
  for (const Location& at : locations) {
    if (at.mpi != locations[0].mpi) return {};
  }
  return mpi_name(library().version);
}

// Calls can be pending only if all ranks have the same way to advance them.
void decide_pending(Communicator& communicator, const std::vector<Location>& locations) {
  Settings& settings = communicator.settings;
  settings.slots = std::min(settings.slots, Communicator::kMostPendingSlots);
  for (const Location& at : locations) {
    if (at.advancing != locations[0].advancing || at.advancing == Advancing::nobody) settings.slots = 0;
  }
  communicator.memory_only = locations[0].advancing == Advancing::mover;
  // The algorithm that selection falls back on for pending calls needs room for a piece of every block. With fewer slots each slot has more room.
  const int ranks = communicator.topology.largest_node();
  while (settings.slots > 0 && pending_layout(ranks, settings).bulk_bytes < static_cast<std::size_t>(ranks) * kCacheLineBytes) {
    --settings.slots;
  }
}

// A communicator that no algorithm can serve shares nothing: its calls are native, and those on device memory are staged.
bool without_algorithm(Communicator& communicator, const std::vector<Location>& locations) {
  const Topology& topology = communicator.topology;
  const bool devices = std::any_of(locations.begin(), locations.end(), [](const Location& at) { return at.devices != 0; });
  communicator.native_only = !could_serve(*communicator.tuning, communicator.settings, topology, devices);
  if (!communicator.native_only) return false;
  if (topology.rank == 0) log_line(LogLevel::plan, "communicator of %s: no algorithm for it, all calls are native", topology.text().c_str());
  communicator.settings.slots = 0;
  return true;
}

void tell(const Topology& topology) {
  if (topology.rank != 0) return;
  log_line(LogLevel::plan, "communicator of %s: segment %s, single copy %s%s", topology.text().c_str(),
           topology.shared_segment ? "shared" : "none", topology.single_copy ? "allowed" : "not allowed",
           topology.oversubscribed ? ", more ranks than cores" : "");
}

void open_slots(Communicator& communicator, const std::shared_ptr<MpiPeers>& peers) {
  MpiLinks::Placement placement{0, communicator.settings.patience_ms, communicator.topology.oversubscribed};
  communicator.open_slots([&](int number) {
    placement.slot = static_cast<std::size_t>(number);
    placement.messages = number == 0 || !communicator.memory_only;
    return std::make_unique<MpiLinks>(peers, placement);
  });
}

// Ranks on several nodes must be able to tell each other when something goes wrong.
bool join_nodes(Communicator& communicator, const std::vector<Location>& locations, const MpiPeers& peers, Exchange& exchange) {
  if (exchange.is_over()) return false;
  if (!communicator.slot().links->open_messages().ok()) {
    if (peers.all_know_of_failure) exchange.abandon();
    return false;
  }
  communicator.helpers = agree_on_helpers(communicator, locations);
  return true;
}

// Returns false on all ranks alike if the settings cannot be agreed on or switch crossrail off.
bool settle_settings(MPI_Comm comm, Communicator& communicator, const std::vector<Location>& locations, Exchange& exchange) {
  const std::string given = settings_of_info_keys(comm);
  std::string of_info = given;
  if (!take_over_settings(communicator, locations, exchange, of_info)) return false;
  if (of_info != given) hold_info_keys(comm, of_info);
  return communicator.settings.enabled != 0;
}

}  // namespace

bool (*mover_is_there)() = nullptr;

std::unique_ptr<Communicator> open_communicator(MPI_Comm comm, Exchange& exchange) {
  int rank = 0;
  if (pmpi().Comm_rank(comm, &rank) != MPI_SUCCESS) return nullptr;
  const World world = look_at_world();
  note_world(world.rank, world.size);
  Stopwatch watch(rank == 0);
  Location mine = discover_location(world.rank);
  CommonNumber number = CommonCommunicator::of_process().number(mine);
  std::vector<Location> locations;
  if (!exchange_locations(exchange, mine, settings_of_info_keys(comm), locations)) return nullptr;
  watch.note("exchanging locations");

  auto communicator = std::make_unique<Communicator>();
  communicator->topology = topology_from_locations(locations, rank);
  if (!settle_settings(comm, *communicator, locations, exchange)) return nullptr;
  const std::string ignored = ignore_senseless_algorithms(communicator->settings);
  if (rank == 0 && world.rank <= 0 && !ignored.empty()) say_once(ignored);
  Topology& topology = communicator->topology;
  if (!topology.one_node() && !exchange.in_blocking_call()) return nullptr;
  topology.mpi = mpi_of_all(locations);
  const auto peers = std::make_shared<MpiPeers>(comm, rank, locations, std::move(number));
  if (without_algorithm(*communicator, locations)) {
    open_slots(*communicator, peers);
    return communicator;
  }
  settle(topology, communicator->settings);
  decide_pending(*communicator, locations);
  open_slots(*communicator, peers);
  watch.note("agreeing on settings and tuning");
  peers->segment_kind = share_any_segment(*communicator, exchange);
  watch.note("sharing a segment");
  topology.single_copy = topology.shared_segment && communicator->settings.single_copy != 0 &&
                         exchange.all(may_read_peers(topology, locations));
  watch.note("trying single copy");
  for (const auto& slot : communicator->slots) static_cast<MpiLinks&>(*slot->links).watch(slot->control.get());
  if (!topology.one_node() && !join_nodes(*communicator, locations, *peers, exchange)) return nullptr;
  tell(topology);
  note_opened();
  return communicator;
}

}  // namespace crossrail::mpi
