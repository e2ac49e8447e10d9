#include "transport/exchange.h"

#include <cstring>

#include "base/log.h"

namespace crossrail {

bool Exchange::from_node_leader(const Topology& topology, void* record, std::size_t bytes) {
  std::vector<std::byte> all(bytes * static_cast<std::size_t>(ranks_));
  if (!gather_bytes(record, all.data(), bytes)) return false;
  std::memcpy(record, all.data() + bytes * static_cast<std::size_t>(topology.node_ranks()[0]), bytes);
  return true;
}

bool share_segment(SharedMemory& memory, const WantedSegment& wanted, Exchange& exchange) {
  const Topology& topology = wanted.topology;
  Status status;
  if (topology.node_rank() == 0) status = memory.create(wanted.kind.c_str(), wanted.bytes);
  SharedMemoryAddress address = memory.address();
  if (!status.ok()) address.bytes = 0;
  if (!exchange.from_node_leader(topology, &address, sizeof address)) {
    memory.close();
    return false;
  }
  if (topology.node_rank() != 0) {
    status = address.bytes == 0 ? failed(Code::system, "the node's first rank could not create it") : memory.attach(address);
  }
  if (!status.ok() && topology.node_rank() == 0) {
    log_line(LogLevel::plan, "cannot share a segment by %s: %s", wanted.kind.c_str(), status.what);
  }
  const bool shared = exchange.all(status.ok());
  memory.seal();
  if (!shared) memory.close();
  return shared;
}

}  // namespace crossrail
