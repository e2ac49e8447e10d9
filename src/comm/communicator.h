// Communicator: what crossrail remembers of an MPI communicator. Ranks build it together at the
// first call and it goes when the communicator is freed.
#pragma once

#include <memory>
#include <vector>

#include "base/settings.h"
#include "comm/plan_cache.h"
#include "comm/tuning_row.h"
#include "topology/topology.h"
#include "transport/device_board.h"
#include "transport/links.h"
#include "transport/node_board.h"
#include "transport/shared_memory.h"

namespace crossrail {

// Memory that grows and never shrinks.
struct Room {
  std::unique_ptr<std::byte[]> memory;
  std::size_t bytes = 0;
  // Errors: no_memory.
  Status reserve(std::size_t wanted);
};

struct Communicator {
  Topology topology;
  Settings settings;   // rank 0's where the scope is the communicator
  std::vector<TuningRow> tuning;  // rank 0's
  std::unique_ptr<Links> links;
  SharedMemory memory;
  std::unique_ptr<NodeBoard> board;  // null where the node shares no segment
  std::unique_ptr<DeviceBoard> devices;  // null where the board is, and on several nodes
  NodeMemory node_memory;
  std::unique_ptr<PlanCache> plans;
  std::uint64_t plan_number = 0;  // of the last plan made
  // An error has left the shared state unusable: all later calls are native.
  bool broken = false;

  // Rows of packed datatypes, and host copies of buffers in device memory.
  Room packed;
  Room staged_send;
  Room staged_recv;

  // Once board and settings are there: what calls on device memory need.
  void open_devices();
};

}  // namespace crossrail
