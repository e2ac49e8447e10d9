#include "simulated_world/world.h"

#include <algorithm>
#include <cstring>

#include "base/simulated_time.h"
#include "selection/selection.h"

namespace crossrail::simulated_world {
namespace {

World* running = nullptr;  // Its ranks run, on this thread alone.

std::vector<Place> places_of(const Topology& topology) {
  std::vector<Place> places(topology.node_of.size());
  for (int node = 0; node < topology.node_count(); ++node) {
    int number = 0;
    for (const int rank : topology.nodes[node]) places[static_cast<std::size_t>(rank)] = {node, number++};
  }
  return places;
}

}  // namespace

World::World(const WorldOptions& options)
    : machine_(options.machine),
      everyone_(topology_from_nodes(options.node_of, 0)),
      places_(places_of(everyone_)),
      scheduler_(everyone_.node_of, machine_),
      network_(places_, everyone_.largest_node(), machine_, scheduler_),
      common_{machine_, scheduler_, network_, options.moves_data, static_cast<int>(places_.size()), {}, {}, {}} {
  Settings settings = options.settings;
  settle(everyone_, settings);
  for (const auto& ranks : everyone_.nodes) {
    segments_.emplace_back(segment_layout(ranks.size(), settings).total_bytes());
    common_.node_sizes.push_back(ranks.size());
  }
  common_.node_memory.resize(everyone_.nodes.size());
  std::vector<TuningRow> tuning = options.tuning;
  (void)read_tuning(default_tuning(), "default.csv", tuning);
  tuning_ = std::make_shared<const std::vector<TuningRow>>(std::move(tuning));
  for (int rank = 0; rank < everyone_.size; ++rank) {
    communicators_.push_back(std::make_unique<Communicator>());
    communicators_.back()->topology = topology_from_nodes(options.node_of, rank);
    open(*communicators_.back(), options);
  }
}

World::~World() = default;

void World::open(Communicator& communicator, const WorldOptions& options) {
  Topology& topology = communicator.topology;
  topology.shared_segment = topology.size > 1;
  communicator.settings = options.settings;
  settle(topology, communicator.settings);
  communicator.tuning = tuning_;
  communicator.calls = std::uint64_t{1} << 32;  // Ranks on several nodes ask each other for devices in call 1, 2, 4, ..., and soon almost never.
  communicator.open_slots([&](int) { return std::make_unique<SimulatedLinks>(common_, places_[static_cast<std::size_t>(topology.rank)], topology.rank); });
  if (topology.shared_segment) communicator.place_slots(segments_[static_cast<std::size_t>(topology.node())].data());
}

std::string World::run(const std::function<void(Communicator&)>& body) {
  running = this;
  std::string failure = scheduler_.run([&](int rank) { body(*communicators_[static_cast<std::size_t>(rank)]); });
  running = nullptr;
  return failure;
}

Time World::begin_together() {
  scheduler_.meet(start_, size(), 0);
  return scheduler_.now();
}

double World::share_of(double bandwidth) const {
  const int at_work = scheduler_.at_work(places_[static_cast<std::size_t>(scheduler_.current())].node);
  return machine_.node_bandwidth > 0 ? std::min(bandwidth, machine_.node_bandwidth / std::max(1, at_work)) : bandwidth;
}

void World::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const auto node = static_cast<std::size_t>(places_[static_cast<std::size_t>(scheduler_.current())].node);
  const bool shared = segments_[node].has(from) || common_.node_memory[node].memory.has(from);
  const std::size_t moved = shared ? round_up(bytes, kCacheLineBytes) : bytes;
  scheduler_.pass(Machine::time(machine_.copy) + Machine::of_bytes(moved, share_of(shared ? machine_.shared_bandwidth : machine_.core_bandwidth)));
  if (common_.moves_data) std::memcpy(to, from, bytes);
}

bool World::combine(std::size_t bytes) {
  scheduler_.pass(Machine::time(machine_.copy) + Machine::of_bytes(bytes, share_of(machine_.combine_bandwidth)));
  return common_.moves_data;
}

}  // namespace crossrail::simulated_world

namespace crossrail::simulated_time {

using simulated_world::running;

void copy(void* to, const void* from, std::size_t bytes) {
  if (running != nullptr) return running->copy(to, from, bytes);
  if (bytes > 0) std::memcpy(to, from, bytes);
}

bool combine(std::size_t bytes) { return running == nullptr || running->combine(bytes); }

void store() {
  if (running != nullptr) running->scheduler().store();
}

void await(int rank, bool (*ready)(void*), void* condition) { running->scheduler().await_flag(rank, ready, condition); }

}  // namespace crossrail::simulated_time
