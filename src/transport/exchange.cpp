#include "transport/exchange.h"

#include "base/log.h"

namespace crossrail {

bool share_segment(SharedMemory& memory, const WantedSegment& wanted, Exchange& exchange) {
  const Topology& topology = wanted.topology;
  Status status;
  if (topology.node_rank() == 0) status = memory.create(wanted.kind.c_str(), wanted.bytes);
  std::vector<SharedMemoryAddress> addresses;
  SharedMemoryAddress mine = memory.address();
  if (!status.ok()) mine.bytes = 0;
  if (!exchange.gather(mine, addresses)) return false;
  if (topology.node_rank() != 0) {
    const SharedMemoryAddress& address = addresses[static_cast<std::size_t>(topology.node_ranks()[0])];
    status = address.bytes == 0 ? failed(Code::system, "the node's first rank could not create it") : memory.attach(address);
  }
  if (!status.ok() && topology.node_rank() == 0) {
    log_line(LogLevel::plan, "no shared segment by %s: %s", wanted.kind.c_str(), status.what);
  }
  const bool shared = exchange.all(status.ok());
  memory.seal();
  if (!shared) memory.close();
  return shared;
}

}  // namespace crossrail
