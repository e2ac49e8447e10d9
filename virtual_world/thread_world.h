// In a world of ranks that are threads, every rank gets a Communicator of its own, as mpi/ would build it, and runs the same function. It
// is for tests, and to count what algorithms do where no machine is.
//
//   world({0, 0, 0, 1, 1}, {}, [](Communicator& communicator) { ... });
#pragma once

#include <functional>
#include <vector>

#include "comm/communicator.h"
#include "virtual_world/reserved_memory.h"
#include "virtual_world/thread_links.h"

namespace crossrail::virtual_world {

struct WorldOptions {
  Settings settings;                // They are those of all ranks.
  std::vector<TuningRow> tuning;    // They are read before the built-in table.
  bool built_in_tuning = true;      // It says whether the built-in table is read at all.
  bool shared_segment = true;       // The ranks of a node share one.
  bool single_copy = true;          // The ranks believe this. LinkOptions::may_read is the truth.
  int cores_per_node = 0;           // More ranks than this count as oversubscribed. 0 stands for this machine's cores.
  // The slots begin as if this many rounds had gone by on every slot.
  std::uint64_t epochs_before = 0;
  // If it is not 0, pending calls are suspended before every wait, and go on when random numbers that begin here say so.
  unsigned suspend_seed = 0;
  LinkOptions links;
};

// The ranks share nothing but what the options say. They are alive as long as the object.
class ThreadWorld {
 public:
  ThreadWorld(const std::vector<int>& node_of, const WorldOptions& options);
  ~ThreadWorld();

  // Runs `body` on every rank, each on a thread of its own, and returns when all have returned.
  // A rank that returns has ended in the eyes of the others.
  void run(const std::function<void(Communicator&)>& body);

  Communicator& communicator(int rank) { return *communicators_[rank]; }
  const LinkCounters& counters(int rank) const { return exchange_.counters(rank); }
  int size() const { return static_cast<int>(communicators_.size()); }

 private:
  void open(Communicator& communicator, const WorldOptions& options);

  unsigned suspend_seed_;
  Exchange exchange_;
  std::vector<ReservedMemory> segments_;  // They are those of every node.
  std::vector<std::unique_ptr<Communicator>> communicators_;
};

// This is one run of one world.
void world(const std::vector<int>& node_of, const WorldOptions& options,
           const std::function<void(Communicator&)>& body);

}  // namespace crossrail::virtual_world
