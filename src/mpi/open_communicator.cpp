#include "mpi/open_communicator.h"

#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include "base/log.h"
#include "device/device.h"
#include "mpi/counters.h"
#include "mpi/mpi_links.h"
#include "mpi/pmpi.h"
#include "selection/selection.h"
#include "transport/process_memory.h"

namespace crossrail::mpi {
namespace {

// The exchanges that setting up needs, on the user's communicator.
class Exchange {
 public:
  Exchange(MPI_Comm comm, int size) : comm_(comm), size_(size) {}

  template <class Record>
  bool gather(const Record& mine, std::vector<Record>& all) {
    all.resize(size_);
    return pmpi().Allgather(&mine, sizeof mine, handles().byte, all.data(), sizeof mine, handles().byte, comm_) ==
           MPI_SUCCESS;
  }
  // Rank 0's text to all.
  bool broadcast(std::string& text) {
    int length = static_cast<int>(text.size());
    if (pmpi().Bcast(&length, 1, handles().whole_number, 0, comm_) != MPI_SUCCESS) return false;
    text.resize(length);
    return length == 0 || pmpi().Bcast(text.data(), length, handles().byte, 0, comm_) == MPI_SUCCESS;
  }
  // True if `mine` is true on every rank.
  bool all(bool mine) {
    int worst = mine ? 0 : 1, largest = 1;
    return pmpi().Allreduce(&worst, &largest, 1, handles().whole_number, handles().maximum, comm_) == MPI_SUCCESS &&
           largest == 0;
  }

 private:
  MPI_Comm comm_;
  int size_;
};

// CROSSRAIL_LOG=2 tells where the time of the set-up goes.
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

// This process in MPI_COMM_WORLD; -1 where there is none (sessions).
struct World {
  int rank = -1;
  int size = -1;
};

World look_at_world() {
  World world;
  int initialized = 0;
  (void)pmpi().Initialized(&initialized);
  if (initialized == 0) return world;
  (void)pmpi().Comm_rank(handles().comm_world, &world.rank);
  (void)pmpi().Comm_size(handles().comm_world, &world.size);
  return world;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    log_line(LogLevel::error, "CROSSRAIL_TUNING=%s cannot be read: the built-in table is used", path.c_str());
    return {};
  }
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Rank 0's settings hold for all; where every rank has the same ones (the hash says), nothing is sent.
bool take_over_settings(Communicator& communicator, const std::vector<Location>& locations, Exchange& exchange) {
  communicator.settings = process_settings();
  bool same = true;
  for (const Location& at : locations) same = same && at.settings == locations[0].settings;
  if (!same) {
    std::string text = communicator_settings_text(process_settings());
    if (!exchange.broadcast(text)) return false;
    apply_communicator_settings(text, communicator.settings);
  }
  const bool leads = communicator.topology.rank == 0;
  if (!communicator.settings.tuning.empty()) {
    std::string table = leads ? read_file(communicator.settings.tuning) : std::string();
    if (!exchange.broadcast(table)) return false;
    const Status read = read_tuning(table, communicator.settings.tuning, communicator.tuning);
    if (!read.ok() && leads) log_line(LogLevel::error, "tuning table: %s: what follows is not used", read.what);
  }
  const Status built_in = read_tuning(default_tuning(), "default.csv", communicator.tuning);
  if (!built_in.ok()) log_line(LogLevel::error, "built-in tuning table: %s", built_in.what);
  return true;
}

// Whether this process may read the memory of another: tried, not guessed, and remembered.
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

// The first rank of every node creates memory of `kind`, the others attach. False on all ranks
// alike if it failed anywhere.
bool share_segment(Communicator& communicator, const std::string& kind, Exchange& exchange) {
  const Topology& topology = communicator.topology;
  const NodeBoardLayout layout = node_board_layout(topology.node_size(), topology.scratch_bytes);
  Status status;
  if (topology.node_rank() == 0) {
    status = communicator.memory.create(kind.c_str(), layout.total_bytes());
  }
  std::vector<SharedMemoryAddress> addresses;
  SharedMemoryAddress mine = communicator.memory.address();
  if (!status.ok()) mine.bytes = 0;
  if (!exchange.gather(mine, addresses)) return false;
  if (topology.node_rank() != 0) {
    const SharedMemoryAddress& address = addresses[topology.node_ranks()[0]];
    status = address.bytes == 0 ? failed(Code::system, "the node's first rank could not create it")
                                : communicator.memory.attach(address);
  }
  if (!status.ok() && topology.node_rank() == 0) {
    log_line(LogLevel::plan, "no shared segment by %s: %s", kind.c_str(), status.what);
  }
  const bool shared = exchange.all(status.ok());
  communicator.memory.seal();
  if (!shared) {
    communicator.memory.close();
    return false;
  }
  communicator.board = std::make_unique<NodeBoard>(
      NodeBoard::Placement{communicator.memory.data(), layout, &topology.node_ranks(), topology.node_rank(),
                           topology.oversubscribed, communicator.settings.patience_ms},
      *communicator.links);
  return true;
}

// How it is shared; empty if it could not be.
std::string share_any_segment(Communicator& communicator, Exchange& exchange) {
  if (communicator.topology.size == 1) return {};
  std::stringstream kinds(communicator.settings.segment);
  std::string kind;
  while (std::getline(kinds, kind, ',')) {
    if (kind == "none") break;
    if (!share_segment(communicator, kind, exchange)) continue;
    communicator.topology.shared_segment = true;
    return kind;
  }
  return {};
}

// False if some rank could not tell a device pointer from a host pointer.
bool exchange_locations(Exchange& exchange, int world_rank, std::vector<Location>& locations) {
  Location mine = discover_location(world_rank);
  mine.blind = device::driver_without_module() ? 1 : 0;
  if (!exchange.gather(mine, locations)) return false;
  for (const Location& at : locations) {
    if (at.blind != 0) return false;
  }
  return true;
}

}  // namespace

std::unique_ptr<Communicator> open_communicator(MPI_Comm comm) {
  int inter = 0, size = 0, rank = 0;
  if (pmpi().Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter != 0) return nullptr;
  if (pmpi().Comm_size(comm, &size) != MPI_SUCCESS || pmpi().Comm_rank(comm, &rank) != MPI_SUCCESS) return nullptr;
  const World world = look_at_world();
  note_world(world.rank, world.size);
  Exchange exchange(comm, size);
  Stopwatch watch(rank == 0);
  std::vector<Location> locations;
  if (!exchange_locations(exchange, world.rank, locations)) return nullptr;
  watch.note("exchanging locations");

  auto communicator = std::make_unique<Communicator>();
  communicator->topology = topology_from_locations(locations, rank);
  if (!take_over_settings(*communicator, locations, exchange)) return nullptr;
  if (communicator->settings.enabled == 0) return nullptr;
  Topology& topology = communicator->topology;
  topology.scratch_bytes = communicator->settings.scratch_bytes;
  auto links = std::make_unique<MpiLinks>(
      comm, rank, locations, MpiLinks::Waiting{communicator->settings.patience_ms, topology.oversubscribed});
  MpiLinks& mpi_links = *links;
  communicator->links = std::move(links);
  communicator->plans = std::make_unique<PlanCache>(communicator->settings.plan_count);
  watch.note("agreeing on settings and tuning");
  const std::string segment_kind = share_any_segment(*communicator, exchange);
  communicator->open_devices();
  watch.note("sharing a segment");
  topology.single_copy = topology.shared_segment && communicator->settings.single_copy != 0 &&
                         exchange.all(may_read_peers(topology, locations));
  watch.note("trying single copy");
  // Several nodes: ranks must be able to tell each other when something goes wrong.
  mpi_links.watch(communicator->board.get(), segment_kind);
  if (!topology.one_node() && !mpi_links.open_messages().ok()) return nullptr;
  if (rank == 0) {
    log_line(LogLevel::plan, "communicator of %s: segment %s, single copy %s%s", topology.text().c_str(),
             topology.shared_segment ? "shared" : "none", topology.single_copy ? "allowed" : "not allowed",
             topology.oversubscribed ? ", more ranks than cores" : "");
  }
  return communicator;
}

}  // namespace crossrail::mpi
