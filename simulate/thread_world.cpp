#include "simulate/thread_world.h"

#include <cstdlib>
#include <thread>

#include "selection/selection.h"

namespace crossrail::simulate {

// A node's segment: zeroed and aligned, like a fresh mapping.
struct ThreadWorld::Segment {
  explicit Segment(std::size_t bytes)
      : data(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, round_up(bytes, kPageBytes)))) {
    std::memset(data.get(), 0, round_up(bytes, kPageBytes));
  }
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> data;
};

ThreadWorld::ThreadWorld(const std::vector<int>& node_of, const WorldOptions& options)
    : exchange_(topology_from_nodes(node_of, 0).node_of, options.links) {
  const Topology everyone = topology_from_nodes(node_of, 0);
  for (const auto& ranks : everyone.nodes) {
    segments_.emplace_back(
        node_board_layout(static_cast<int>(ranks.size()), options.settings.scratch_bytes).total_bytes());
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
  topology.scratch_bytes = options.settings.scratch_bytes;
  topology.oversubscribed = topology.size > cores;
  topology.shared_segment = options.shared_segment && topology.size > 1;
  topology.single_copy = topology.shared_segment && options.single_copy;
  communicator.settings = options.settings;
  communicator.tuning = options.tuning;
  if (options.built_in_tuning) (void)read_tuning(default_tuning(), "default.csv", communicator.tuning);
  communicator.links = std::make_unique<ThreadLinks>(exchange_, topology.rank);
  communicator.plans = std::make_unique<PlanCache>(options.settings.plan_count);
  if (!topology.shared_segment) return;
  const NodeBoardLayout layout = node_board_layout(topology.node_size(), topology.scratch_bytes);
  communicator.board = std::make_unique<NodeBoard>(
      NodeBoard::Placement{segments_[topology.node()].data.get(), layout, &topology.node_ranks(),
                           topology.node_rank(), topology.oversubscribed, options.settings.patience_ms},
      *communicator.links);
  communicator.open_devices();
}

void ThreadWorld::run(const std::function<void(Communicator&)>& body) {
  std::vector<std::thread> threads;
  for (const auto& communicator : communicators_) {
    threads.emplace_back([this, &body, rank = communicator.get()] {
      body(*rank);
      exchange_.leave(rank->topology.rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void world(const std::vector<int>& node_of, const WorldOptions& options,
           const std::function<void(Communicator&)>& body) {
  ThreadWorld(node_of, options).run(body);
}

}  // namespace crossrail::simulate
