#include "device_sharing/receive_buffers.h"

namespace crossrail {

Status ReceiveBuffers::open(std::size_t bytes) {
  if (!all_.empty()) return {};
  const crossrail_device_module& module = parts_.queue.module();
  ExportedSide mine;
  void* memory = own_;
  if (memory != nullptr || module.alloc(&parts_.queue.home(), bytes, &memory) == nullptr) {
    own_ = static_cast<std::byte*>(memory);
    bytes_ = bytes;
    crossrail_memory facts{};
    module.describe(memory, bytes, &facts);
    mine = parts_.mappings.export_side(facts, memory);
  }
  return map(mine);
}

Status ReceiveBuffers::map(const ExportedSide& mine) {
  const int ranks = control_.node_size();
  DeviceDescriptors all(static_cast<std::size_t>(ranks));
  CROSSRAIL_TRY(parts_.rendezvous.exchange_descriptors({mine, mine, 0, parts_.mappings.freed()}, all));
  for (const DeviceDescriptor& one : all) {
    if (!one.on_device()) return failed(Code::no_memory, "no device memory for the receive buffers of packets");
  }
  CROSSRAIL_TRY(parts_.mappings.map(MappedSide::recv, all, parts_.queue.handle()));
  parts_.mappings.keep(MappedSide::recv, all);
  for (int rank = 0; rank < ranks; ++rank) {
    all_.push_back(rank == control_.node_rank() ? own_ : parts_.mappings.at(rank, all[static_cast<std::size_t>(rank)].recv));
  }
  return {};
}

void ReceiveBuffers::address(crossrail_packets& packets) const {
  packets.rank = control_.node_rank();
  packets.ranks = control_.node_size();
  packets.buffers = all_.data();
  packets.buffer_bytes = bytes_;
}

crossrail_barrier ReceiveBuffers::barrier() const {
  return {control_.node_rank(), control_.node_size(), all_.data(), bytes_, parts_.queue.abort_flag(), nullptr};
}

ReceiveBuffers::~ReceiveBuffers() {
  if (own_ != nullptr) (void)parts_.queue.module().free(own_);
}

}  // namespace crossrail
