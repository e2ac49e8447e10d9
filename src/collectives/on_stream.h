// All-to-all in the order of a stream of the program's: the call enqueues work and returns. What the ranks
// need of each other they wait for in kernels, so that the work can be captured in a graph and replayed.
#pragma once

#include "comm/buffers.h"
#include "topology/topology.h"
#include "transport/device_board.h"

namespace crossrail {

struct StreamCall {
  const Topology& topology;
  DeviceBoard& devices;
  std::size_t block_bytes;
  void* stream;
};

// The side that the ranks must offer when they meet for the call.
Window window_on_stream(const StreamCall& call);
// Errors, on all ranks alike: unsupported, no_memory; on this one: system.
Status alltoall_on_stream(const StreamCall& call, const Buffers& buffers);

}  // namespace crossrail
