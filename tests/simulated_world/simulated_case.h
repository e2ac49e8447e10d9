// These are machines and jobs for tests of simulated time.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "simulated_world/simulation.h"

namespace crossrail::tests {

// A machine of round numbers.
inline simulated_world::Machine some_machine() {
  simulated_world::Machine machine;
  machine.core_bandwidth = 10;
  machine.shared_bandwidth = 5;
  machine.node_bandwidth = 100;
  machine.copy = 8;
  machine.combine_bandwidth = 8;
  machine.other_core = 100;
  machine.look = 20;
  machine.enter = 300;
  machine.local_latency = 300;
  machine.local_bandwidth = 8;
  machine.local_send = machine.local_receive = 150;
  machine.latency = 1000;
  machine.send = 200;
  machine.receive = 250;
  machine.receive_bandwidth = 10;
  machine.match = 5;
  machine.eager = 512;
  machine.handshake = 300;
  machine.process_gap = 50;
  machine.shared_by_processors = machine.processor_bandwidth = 0;
  machine.adapters = 1;
  machine.adapter_gap = 10;
  machine.adapter_bandwidth = 10;
  machine.queue_pairs = 131072;
  machine.cached = 1000;
  machine.miss = 400;
  machine.transport = 0;
  machine.datagram = 4096;
  machine.datagram_work = 100;
  machine.reconnect = 150;
  machine.contexts = 2;
  return machine;
}

inline std::vector<int> nodes_of(int nodes, int ranks_per_node) {
  std::vector<int> node_of;
  for (int rank = 0; rank < nodes * ranks_per_node; ++rank) node_of.push_back(rank / ranks_per_node);
  return node_of;
}

inline simulated_world::Job some_job(const std::vector<int>& node_of, const std::vector<std::string>& algorithms, const std::vector<std::size_t>& sizes) {
  simulated_world::Job job;
  job.node_of = node_of;
  for (const std::string& algorithm : algorithms) job.contenders.push_back({algorithm, {{SIZE_MAX, algorithm}}});
  job.sizes = sizes;
  job.check_up_to = 1 << 20;
  job.settings.slots = job.settings.devices = job.settings.guard_calls = 0;
  job.machine = some_machine();
  return job;
}

inline std::vector<simulated_world::Cell> cells_of(const simulated_world::Job& job) {
  std::vector<simulated_world::Cell> cells;
  EXPECT_TRUE(simulate(job, [&](const simulated_world::Cell& cell) { cells.push_back(cell); }));
  return cells;
}

}  // namespace crossrail::tests
