#include "device_sharing/receive_buffers.h"

namespace crossrail {

Status ReceiveBuffers::open(crossrail_packet_form form, std::size_t most_bytes) {
  crossrail_packets packets{};
  packets.form = form;
  packets.ranks = control_.node_size();
  packets.block_bytes = most_bytes;
  std::size_t bytes = 0;
  const bool possible = parts_.queue.supports(CROSSRAIL_WORK_PACKETS, packets, &bytes);
  return open(areas_[static_cast<std::size_t>(form)], possible, bytes);
}

Status ReceiveBuffers::open_messages(bool wanted) {
  crossrail_messages messages{};
  messages.ranks = control_.node_size();
  std::size_t bytes = 0;
  const bool possible = wanted && parts_.queue.supports(CROSSRAIL_WORK_MESSAGES, messages, &bytes);
  return open(messages_, possible, bytes);
}

Status ReceiveBuffers::open(Area& area, bool possible, std::size_t bytes) {
  if (!area.all.empty()) return {};
  const crossrail_device_module& module = parts_.queue.module();
  ExportedSide mine;
  void* memory = area.own;
  if (possible && (memory != nullptr || module.alloc(&parts_.queue.home(), bytes, &memory) == nullptr)) {
    area.own = static_cast<std::byte*>(memory);
    area.bytes = bytes;
    crossrail_memory facts{};
    module.describe(memory, bytes, &facts);
    mine = parts_.mappings.export_side(facts, memory);
  }
  return map(mine, area);
}

Status ReceiveBuffers::map(const ExportedSide& mine, Area& area) {
  const int ranks = control_.node_size();
  DeviceDescriptors all(static_cast<std::size_t>(ranks));
  CROSSRAIL_TRY(parts_.rendezvous.exchange_descriptors({mine, mine, 0, parts_.mappings.withdrawn()}, all));
  parts_.mappings.drop_withdrawn(all);
  for (const DeviceDescriptor& one : all) {
    if (!one.on_device()) return failed(Code::no_memory, kNoPackets);
  }
  CROSSRAIL_TRY(parts_.mappings.map(MappedSide::recv, all, parts_.queue.opened()));
  parts_.mappings.keep(MappedSide::recv, all);
  for (int rank = 0; rank < ranks; ++rank) {
    area.all.push_back(rank == control_.node_rank() ? area.own : parts_.mappings.at(rank, all[static_cast<std::size_t>(rank)].recv));
  }
  return {};
}

void ReceiveBuffers::address(crossrail_packets& packets) const {
  const Area& its = area(static_cast<crossrail_packet_form>(packets.form));
  packets.rank = control_.node_rank();
  packets.ranks = control_.node_size();
  packets.buffers = its.all.data();
  packets.buffer_bytes = its.bytes;
}

void ReceiveBuffers::address(crossrail_messages& messages) const {
  messages.rank = control_.node_rank();
  messages.ranks = control_.node_size();
  messages.buffers = messages_.all.data();
  messages.buffer_bytes = messages_.bytes;
}

crossrail_barrier ReceiveBuffers::barrier() const {
  const Area& its = area(CROSSRAIL_PACKETS_LL);
  return {control_.node_rank(), control_.node_size(), its.all.data(), its.bytes, parts_.queue.abort_flag()};
}

ReceiveBuffers::~ReceiveBuffers() {
  for (const Area* area : {&areas_[0], &areas_[1], &areas_[2], &messages_}) {
    if (area->own != nullptr) (void)parts_.queue.module().free(area->own);
  }
}

}  // namespace crossrail
