// In every call DeviceRendezvous publishes, in the node's segment, where the two sides of a rank lie, and waits for what all others say. So
// the choice between host and device memory is the same on every rank, whatever the program passes where.
#pragma once

#include <vector>

#include "device_sharing/device_lines.h"
#include "transport/control_block.h"

namespace crossrail {

// This is what a rank says.
struct DeviceDescriptor {
  ExportedSide send, recv;
  std::size_t chunk = 0;    // It is the most bytes of a block in one round.
  std::size_t longest = 0;  // It is the longest of its blocks.
  std::uint64_t withdrawn = 0;  // This many of its exports are over.
  const ExportedSide& side(MappedSide which) const { return which == MappedSide::send ? send : recv; }
  bool on_device() const { return send.residency != Residency::host && recv.residency != Residency::host; }
};
using DeviceDescriptors = std::vector<DeviceDescriptor>;  // They are indexed by node rank.

class DeviceRendezvous {
 public:
  DeviceRendezvous(const DeviceRegion& region, ControlBlock& control) : region_(region), lines_(region.lines), control_(control) {}
  // Returns the places of the next exchange, of a v-call. They are written before it, one for every rank of the node.
  DevicePlace* my_places() const { return region_.places(control_.node_rank(), (number_ + 1) & 1); }
  // `all` has a place for every rank of the node, this one included.
  Status exchange_descriptors(const DeviceDescriptor& mine, DeviceDescriptors& all);
  // Returns what `owner` said in the last exchange, of a v-call, of its blocks from and to `peer`.
  const DevicePlace& place(int owner, int peer) const { return region_.places(owner, number_ & 1)[peer]; }

 private:
  static constexpr std::int64_t kLongestLookNs = 10'000, kShortestLookNs = 500;
  void publish(std::uint64_t flag, const DeviceDescriptor& mine);
  void look_for_others(std::uint64_t flag);

  DeviceRegion region_;
  DeviceLines* lines_;
  ControlBlock& control_;
  std::uint64_t number_ = 0;  // It is the number of the last exchange.
  std::int64_t look_ns_ = kLongestLookNs;
};

}  // namespace crossrail
