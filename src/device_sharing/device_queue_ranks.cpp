// This is the part of DeviceQueue that tells which ranks share a device, who launches for whom, and whether kernels may wait for each other.

#include <algorithm>

#include "device_sharing/device_queue.h"

namespace crossrail {

const std::vector<Group>& DeviceQueue::devices() {
  if (!devices_.empty()) return devices_;
  std::vector<std::uint64_t> identities;
  for (int rank = 0; rank < control_.node_size(); ++rank) identities.push_back(region_.lines[rank].identity);
  devices_ = lists_.split(control_.node(), identities, control_.rank_of(control_.node_rank()));
  return devices_;
}

const std::vector<int>& DeviceQueue::launched() {
  if (launchers_.empty()) find_launchers();
  return launched_;
}

// The launcher is the first rank on each device.
void DeviceQueue::find_launchers() {
  std::vector<int> launcher_of;
  for (int rank = 0; rank < control_.node_size(); ++rank) {
    int first = limits_.one_launcher ? 0 : rank;
    while (region_.lines[first].identity != region_.lines[rank].identity) ++first;
    launcher_of.push_back(first);
  }
  launch_by(launcher_of);
}

void DeviceQueue::launch_by(const std::vector<int>& launcher_of) {
  launcher_ = launcher_of[static_cast<std::size_t>(control_.node_rank())];
  for (const int rank : ranks_) {
    const int launcher = launcher_of[static_cast<std::size_t>(rank)];
    if (launcher == rank) launchers_.push_back(rank);
    if (launcher == control_.node_rank()) launched_.push_back(rank);
    if (launcher < control_.node_rank()) ++before_;
  }
}

bool DeviceQueue::shares_a_device() { return devices().size() < static_cast<std::size_t>(control_.node_size()); }

Status DeviceQueue::has_kernels_that_wait() const {
  for (int rank = 0; rank < control_.node_size(); ++rank) {
    if (region_.lines[rank].waits == 0) return failed(Code::unsupported, "some rank's device module has no packets");
  }
  return {};
}

Status DeviceQueue::may_wait_for_peers() {
  CROSSRAIL_TRY(has_kernels_that_wait());
  return shares_a_device() ? failed(Code::unsupported, "two ranks share a device") : Status{};
}

Status DeviceQueue::may_wait_in_streams() {
  CROSSRAIL_TRY(has_kernels_that_wait());
  const bool at_once = std::all_of(region_.lines, region_.lines + control_.node_size(), [](const DeviceLines& one) { return one.concurrent != 0; });
  if (at_once || !shares_a_device()) return {};
  return failed(Code::unsupported, "ranks share a GPU, on which their kernels run one after the other: start an MPS server for them (crossrail run --mps)");
}

// Kernels that wait for peers must all be on a shared device at the same time.
int DeviceQueue::most_multiprocessors_in_streams() {
  constexpr int kShared = 16;
  if (!shares_a_device()) return limits_.multiprocessors;
  return limits_.multiprocessors == 0 ? kShared : std::min(limits_.multiprocessors, kShared);
}

}  // namespace crossrail
