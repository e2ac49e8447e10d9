#include "nccl/opening.h"

#include <sched.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/log.h"
#include "device/device.h"
#include "engine/engine.h"
#include "engine/opened_together.h"
#include "nccl/node_links.h"
#include "nccl/real.h"
#include "selection/parameters.h"

namespace crossrail::nccl {
namespace {

// It waits on the caller's thread until all ranks are there, one has ended, or the communicator is aborted.
class WaitingExchange final : public TableExchange {
 public:
  WaitingExchange(OpeningTable& table, const Record& record) : TableExchange(table), record_(record) {}
  bool in_blocking_call() const override { return true; }

 protected:
  void await_all() override {
    constexpr unsigned kLooksAQuestion = 1u << 12;
    for (unsigned looks = 1; !table().all_left() && !given_up_; ++looks) {
      (void)sched_yield();
      if (looks % kLooksAQuestion == 0) given_up_ = record_.aborted || record_.rendezvous->some_ended();
    }
  }
  bool given_up() const override { return given_up_; }

 private:
  const Record& record_;
  bool given_up_ = false;
};

bool is_set(const char* variable, const char* value) {
  const char* const text = std::getenv(variable);
  return text != nullptr && std::strcmp(text, value) == 0;
}

// Whoever asks NCCL what it does sees what crossrail does, too.
LogLevel tells() { return is_set("NCCL_DEBUG", "INFO") || is_set("NCCL_DEBUG", "TRACE") ? LogLevel::error : LogLevel::plan; }

// Users who forbid NCCL direct access or shared memory mean us, too. Those who name an algorithm or a protocol of NCCL's want its results.
const char* forbidden_by() {
  if (is_set("NCCL_P2P_DISABLE", "1")) return "NCCL_P2P_DISABLE";
  if (is_set("NCCL_P2P_LEVEL", "LOC") || is_set("NCCL_P2P_LEVEL", "0")) return "NCCL_P2P_LEVEL";
  if (is_set("NCCL_SHM_DISABLE", "1")) return "NCCL_SHM_DISABLE";
  for (const char* const variable : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"}) {
    if (std::getenv(variable) != nullptr) return variable;
  }
  return nullptr;
}

// Several ranks of one process share what belongs to the process.
bool a_process_each(const std::vector<Location>& locations) {
  std::set<std::pair<std::uint64_t, int>> processes;
  for (const Location& at : locations) processes.insert({at.pid_space, at.pid});
  return processes.size() == locations.size();
}

bool all_can(const std::vector<Location>& locations) {
  for (const Location& at : locations) {
    if (at.blind != 0) return false;
  }
  return a_process_each(locations);
}

// There are only calls in a stream's order. They need little of the segment, and no slots for pending calls.
void take_little(Settings& settings, int most_ctas) {
  constexpr std::uint64_t kScratch = std::uint64_t{1} << 20;
  if (most_ctas > 0) settings.multiprocessors = static_cast<std::uint64_t>(most_ctas);
  settings.slots = 0;
  settings.scratch_bytes = kScratch;
}

std::unique_ptr<Communicator> make(const Record& record, Exchange& exchange) {
  Location mine = discover_location(-1);
  mine.blind = device::driver_without_module() ? 1 : 0;
  std::vector<Location> locations;
  if (!exchange.gather(mine, locations) || !exchange.all(forbidden_by() == nullptr) || !all_can(locations)) return nullptr;
  auto communicator = std::make_unique<Communicator>();
  communicator->topology = topology_from_locations(locations, record.rank);
  std::string nothing;
  if (!communicator->topology.one_node() || !take_over_settings(*communicator, locations, exchange, nothing)) return nullptr;
  std::string most_ctas = std::to_string(record.most_ctas);  // Kernels of all ranks have as many CTAs.
  if (!exchange.broadcast(most_ctas) || communicator->settings.enabled == 0) return nullptr;
  (void)ignore_senseless_algorithms(communicator->settings);
  take_little(communicator->settings, std::atoi(most_ctas.c_str()));
  settle(communicator->topology, communicator->settings);
  communicator->open_slots([&](int) { return std::make_unique<NodeLinks>(locations); });
  return share_any_segment(*communicator, exchange).empty() ? nullptr : std::move(communicator);
}

// Some memory on the device of a communicator says which device that is. It is null if it cannot be had.
class OwnMemory {
 public:
  explicit OwnMemory(Comm comm) {
    crossrail_memory near{};
    near.kind = CROSSRAIL_MEMORY_DEVICE;
    if (module_ == nullptr || real().ncclCommCuDevice(comm, &near.device) != Result::success) return;
    if (module_->alloc(&near, 1, &address_) != nullptr) address_ = nullptr;
  }
  ~OwnMemory() {
    if (address_ != nullptr) (void)module_->free(address_);
  }
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;
  const void* address() const { return address_; }

 private:
  const crossrail_device_module* module_ = device::module();
  void* address_ = nullptr;
};

void make_communicator(Record& record) {
  Rendezvous& rendezvous = *record.rendezvous;
  if (knows_its_place(record) && record.size > 1 && rendezvous.come_so_far() == record.size) {
    OpeningTable table = rendezvous.table(record.rank, record.size);
    WaitingExchange exchange(table, record);
    record.communicator = make(record, exchange);
  }
  if (record.communicator == nullptr && record.rank == 0) {
    const char* const forbidden = forbidden_by();
    log_line(tells(), "NCCL keeps a communicator of %d ranks, of which %d are on this node with crossrail%s%s", record.size, rendezvous.come_so_far(),
             forbidden == nullptr ? "" : ": this is set: ", forbidden == nullptr ? "" : forbidden);
  }
  record.rendezvous.reset();
}

}  // namespace

void open(Record& record) {
  if (record.rendezvous != nullptr) make_communicator(record);
  if (record.communicator == nullptr) return;
  const OwnMemory near(record.handle);
  const WantsMessages messages = record.left_messages ? WantsMessages::no : WantsMessages::yes;
  const Status opened = open_stream_order(*record.communicator, {near.address(), near.address() == nullptr ? std::size_t{0} : 1}, messages);
  record.open = opened.ok();
  if (record.communicator->broken) record.error = Result::remote_error;
  if (record.rank == 0) {
    log_line(tells(), "NCCL's communicator of %s: %s", record.communicator->topology.text().c_str(), opened.ok() ? "open" : opened.what);
  }
}

}  // namespace crossrail::nccl
