// ReceiveBuffers holds device memory of every rank that all ranks of the node have mapped for good. Their kernels write packets into it,
// data and flag together, and it holds the lines of their barriers. Each form of packets has memory of its own, because what is data in one
// would be a flag in the other. So have messages.
#pragma once

#include <array>
#include <vector>

#include "device_sharing/device_queue.h"
#include "device_sharing/peer_mappings.h"

namespace crossrail {

inline constexpr const char* kNoPackets = "no device memory for the receive buffers of packets, or links that would break them";

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

  // Opens buffers for blocks of up to `most_bytes`. All ranks come with the same number, which stays the same for a form from the first
  // time on, when no call's work is under way. It may fail with no_memory or unsupported, on all ranks alike.
  Status open(crossrail_packet_form form, std::size_t most_bytes);
  bool is_open(crossrail_packet_form form) const { return !area(form).all.empty(); }
  // Does the same for messages between pairs of ranks, unless some rank does not want them.
  Status open_messages(bool wanted);
  bool takes_messages() const { return !messages_.all.empty(); }
  // Fills in where the packets go, by their form.
  void address(crossrail_packets& packets) const;
  void address(crossrail_messages& messages) const;
  // Returns a barrier that uses the lines behind LL packets.
  crossrail_barrier barrier() const;

 private:
  struct Area {
    std::byte* own = nullptr;
    std::size_t bytes = 0;
    std::vector<void*> all;  // They are indexed by node rank, once they are mapped.
  };
  const Area& area(crossrail_packet_form form) const { return areas_[static_cast<std::size_t>(form)]; }
  // Opens an area of so many bytes, unless some rank has none to give.
  Status open(Area& area, bool possible, std::size_t bytes);
  Status map(const ExportedSide& mine, Area& area);

  Parts parts_;
  ControlBlock& control_;
  std::array<Area, 3> areas_;  // They are indexed by form.
  Area messages_;
};

}  // namespace crossrail
