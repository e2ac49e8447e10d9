#include "device_sharing/device_rendezvous.h"

#include <algorithm>

namespace crossrail {

void DeviceRendezvous::publish(std::uint64_t flag, const DeviceDescriptor& mine) {
  DeviceDescriptorLine& line = lines_[control_.node_rank()].descriptor[number_ & 1];
  line.send.store(mine.send.word(), std::memory_order_relaxed);
  line.send_offset.store(mine.send.offset, std::memory_order_relaxed);
  line.recv.store(mine.recv.word(), std::memory_order_relaxed);
  line.recv_offset.store(mine.recv.offset, std::memory_order_relaxed);
  line.chunk.store(mine.chunk, std::memory_order_relaxed);
  line.longest.store(mine.longest, std::memory_order_relaxed);
  line.withdrawn.store(mine.withdrawn, std::memory_order_relaxed);
  line.flag.store(flag, std::memory_order_release);
}

// The exchange of a nonblocking call can be launched where the call starts, and go on while the program computes, if all are there by then.
// Where the others come late as a rule, the call does not wait for that.
void DeviceRendezvous::look_for_others(std::uint64_t flag) {
  const bool all_here = control_.look(look_ns_, [&] {
    for (int peer = 0; peer < control_.node_size(); ++peer) {
      if (lines_[peer].descriptor[number_ & 1].flag.load(std::memory_order_acquire) != flag) return false;
    }
    return true;
  });
  look_ns_ = all_here ? kLongestLookNs : std::max(look_ns_ / 2, kShortestLookNs);
}

Status DeviceRendezvous::exchange_descriptors(const DeviceDescriptor& mine, DeviceDescriptors& all) {
  const std::uint64_t flag = control_.flag(++number_);
  publish(flag, mine);
  if (mine.on_device()) look_for_others(flag);
  for (int step = 0; step < control_.node_size(); ++step) {
    const int peer = (control_.node_rank() + step) % control_.node_size();
    const DeviceDescriptorLine& line = lines_[peer].descriptor[number_ & 1];
    CROSSRAIL_TRY(control_.await(peer, [&] { return line.flag.load(std::memory_order_acquire) == flag; }));
    all[static_cast<std::size_t>(peer)] = {
        ExportedSide::from(line.send.load(std::memory_order_relaxed), line.send_offset.load(std::memory_order_relaxed)),
        ExportedSide::from(line.recv.load(std::memory_order_relaxed), line.recv_offset.load(std::memory_order_relaxed)),
        static_cast<std::size_t>(line.chunk.load(std::memory_order_relaxed)), static_cast<std::size_t>(line.longest.load(std::memory_order_relaxed)), line.withdrawn.load(std::memory_order_relaxed)};
  }
  return {};
}

}  // namespace crossrail
