// ReceiveBuffers: device memory of every rank that all ranks of the node have mapped for good, into which their
// kernels write packets, data and flag together (an LL protocol), and the lines of their barriers.
#pragma once

#include <vector>

#include "device_sharing/device_queue.h"
#include "device_sharing/peer_mappings.h"

namespace crossrail {

class ReceiveBuffers {
 public:
  struct Parts {
    DeviceQueue& queue;
    DeviceRendezvous& rendezvous;
    PeerMappings& mappings;
  };
  ReceiveBuffers(const Parts& parts, ControlBlock& control) : parts_(parts), control_(control) {}
  ~ReceiveBuffers();
  ReceiveBuffers(const ReceiveBuffers&) = delete;
  ReceiveBuffers& operator=(const ReceiveBuffers&) = delete;

  // All ranks come with the same `bytes`, which stay the same from the first time on, when no call's work is
  // under way. Errors, on all ranks alike: no_memory, unsupported.
  Status open(std::size_t bytes);
  // Fills in where the packets go.
  void address(crossrail_packets& packets) const;
  crossrail_barrier barrier() const;

 private:
  Status map(const ExportedSide& mine);

  Parts parts_;
  ControlBlock& control_;
  std::byte* own_ = nullptr;
  std::size_t bytes_ = 0;
  std::vector<void*> all_;  // by node rank, once they are mapped
};

}  // namespace crossrail
