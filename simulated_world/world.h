// World is a simulated machine with ranks on it, each with a Communicator as mpi/ would build it. The ranks run the library's own engine and algorithms,
// compiled for simulated time (base/simulated_time.h).
//
// Data are moved, or only charged for. In the latter case nothing that the user's buffers would hold is ever touched, so that thousands of
// ranks need little memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "simulated_world/simulated_links.h"

namespace crossrail::simulated_world {

struct WorldOptions {
  std::vector<int> node_of;  // It is the node of every rank.
  Machine machine;
  Settings settings;
  std::vector<TuningRow> tuning;  // They are read before the built-in table.
  bool moves_data = true;
};

class World {
 public:
  explicit World(const WorldOptions& options);
  ~World();
  World(const World&) = delete;

  // Runs body(communicator) on every rank. Returns what went wrong, or an empty text.
  std::string run(const std::function<void(Communicator&)>& body);

  int size() const { return static_cast<int>(communicators_.size()); }
  Communicator& communicator(int rank) { return *communicators_[rank]; }
  Scheduler& scheduler() { return scheduler_; }
  const Network& network() const { return network_; }
  bool moves_data() const { return common_.moves_data; }
  // Begins at a common time, as after a barrier, and returns it.
  Time begin_together();

  // The hooks of base/simulated_time.h call these for the running rank.
  void copy(void* to, const void* from, std::size_t bytes);
  bool combine(std::size_t bytes);

 private:
  void open(Communicator& communicator, const WorldOptions& options);
  // Returns how many bytes a nanosecond the running rank gets.
  double share_of(double bandwidth) const;

  Machine machine_;
  Topology everyone_;  // It is that of rank 0.
  std::vector<Place> places_;
  Scheduler scheduler_;
  Network network_;
  Common common_;
  std::vector<ReservedMemory> segments_;  // They are those of every node.
  std::shared_ptr<const std::vector<TuningRow>> tuning_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
  Scheduler::Meeting start_;
};

}  // namespace crossrail::simulated_world
