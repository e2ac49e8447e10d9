#include "virtual_world/thread_world.h"

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <thread>

#include "selection/selection.h"

namespace crossrail::virtual_world {

namespace {

thread_local std::mt19937 lots;  // They belong to the thread that resumes pending calls.

bool drawn() { return lots() % 2 == 0; }

// Ranks wait by yielding. If the machine has fewer cores than ranks, and other work beside them, that takes up to ten times as long as on
// one core, where a yield is the next rank's turn. Two ranks run at the same time only on several cores, and one world of four does that.
// The golden ratio spreads which one it is, so that no round of the worlds that a test goes through always meets the same.
class FewCores {
 public:
  explicit FewCores(int ranks) {
    static std::atomic<std::uint32_t> worlds{0};
    if (ranks <= static_cast<int>(std::thread::hardware_concurrency()) || worlds++ * 0x9e3779b9u < 0x40000000u) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
    narrowed_ = sched_getaffinity(0, sizeof before_, &before_) == 0 && sched_setaffinity(0, sizeof one, &one) == 0;
  }
  ~FewCores() {
    if (narrowed_) (void)sched_setaffinity(0, sizeof before_, &before_);
  }
  FewCores(const FewCores&) = delete;

 private:
  cpu_set_t before_{};
  bool narrowed_ = false;
};

}  // namespace

ThreadWorld::ThreadWorld(const std::vector<int>& node_of, const WorldOptions& options)
    : suspend_seed_(options.suspend_seed),
      exchange_(topology_from_nodes(node_of, 0).node_of, options.links, 1 + static_cast<int>(options.settings.slots)) {
  Topology everyone = topology_from_nodes(node_of, 0);
  Settings settings = options.settings;
  settle(everyone, settings);
  for (const auto& ranks : everyone.nodes) {
    segments_.emplace_back(segment_layout(ranks.size(), settings).total_bytes());
    if (segments_.back().data() == nullptr) std::abort();
  }
  for (int rank = 0; rank < everyone.size; ++rank) {
    auto communicator = std::make_unique<Communicator>();
    communicator->topology = topology_from_nodes(node_of, rank);
    open(*communicator, options);
    communicators_.push_back(std::move(communicator));
  }
}

ThreadWorld::~ThreadWorld() = default;

void ThreadWorld::open(Communicator& communicator, const WorldOptions& options) {
  Topology& topology = communicator.topology;
  const int cores = options.cores_per_node > 0 ? options.cores_per_node
                                               : static_cast<int>(std::thread::hardware_concurrency());
  topology.oversubscribed = topology.size > cores;
  topology.shared_segment = options.shared_segment && topology.size > 1;
  topology.single_copy = topology.shared_segment && options.single_copy;
  communicator.settings = options.settings;
  settle(topology, communicator.settings);
  std::vector<TuningRow> tuning = options.tuning;
  if (options.built_in_tuning) (void)read_tuning(default_tuning(), "default.csv", tuning);
  communicator.tuning = std::make_shared<const std::vector<TuningRow>>(std::move(tuning));
  communicator.open_slots([&](int slot) { return std::make_unique<ThreadLinks>(exchange_, topology.rank, slot); });
  if (!topology.shared_segment) return;
  communicator.place_slots(segments_[topology.node()].data(), options.epochs_before);
  for (const auto& slot : communicator.slots) static_cast<ThreadLinks&>(*slot->links).watch(slot->control.get());
}

void ThreadWorld::run(const std::function<void(Communicator&)>& body) {
  const FewCores here(size());  // Threads inherit it.
  if (suspend_seed_ != 0) Fiber::released = drawn;
  std::vector<std::thread> threads;
  for (const auto& communicator : communicators_) {
    threads.emplace_back([this, &body, rank = communicator.get()] {
      lots.seed(suspend_seed_ * 1009 + static_cast<unsigned>(rank->topology.rank));
      body(*rank);
      exchange_.leave(rank->topology.rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (suspend_seed_ != 0) Fiber::released = nullptr;
}

void world(const std::vector<int>& node_of, const WorldOptions& options,
           const std::function<void(Communicator&)>& body) {
  ThreadWorld(node_of, options).run(body);
}

}  // namespace crossrail::virtual_world
