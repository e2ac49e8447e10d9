#include "nccl/node_links.h"

#include "transport/process_memory.h"

namespace crossrail::nccl {

// The number of a process in another pid namespace means nothing here.
bool NodeLinks::alive(int rank) {
  const Location& at = locations_[static_cast<std::size_t>(rank)];
  return at.pid_space != own_pid_space() || process_alive(at.pid);
}

}  // namespace crossrail::nccl
