// This part of MpiLinks handles memory that ranks of a node share or read from each other.

#include <algorithm>
#include <cstring>

#include "device/device.h"
#include "mpi/communicator/mpi_links.h"
#include "mpi/library/library.h"
#include "transport/process_memory.h"

namespace crossrail::mpi {

bool MpiLinks::take_device_memory() const { return mpi_takes_device_memory(); }

Status MpiLinks::share(std::size_t bytes, NodeMemory& memory) {
  if (memory.bytes >= bytes) return {};
  auto grown = std::make_unique<SharedMemory>();
  Status mine;
  static_assert(sizeof(SharedMemoryAddress) <= ControlBlock::kMailboxBytes);
  SharedMemoryAddress address{};
  if (control_->node_rank() == 0) {
    mine = grown->create(peers_->segment_kind.c_str(), bytes + kCacheLineBytes);
    if (mine.ok()) address = grown->address();
    std::memcpy(control_->mailbox(), &address, sizeof address);
  }
  Code worst = Code::ok;
  CROSSRAIL_TRY(control_->agree(mine.code, worst));
  if (worst == Code::ok && control_->node_rank() != 0) {
    std::memcpy(&address, control_->mailbox(), sizeof address);
    mine = grown->attach(address);
  }
  CROSSRAIL_TRY(control_->agree(std::max(mine.code, worst), worst));
  grown->seal();
  if (worst != Code::ok) return mine.ok() ? failed(worst, "the node's memory could not be shared") : mine;
  node_memory_ = std::move(grown);
  // Its first bytes belong to SharedMemory.
  memory = {node_memory_->data() + kCacheLineBytes, node_memory_->bytes() - kCacheLineBytes, 0};
  return {};
}

Status MpiLinks::export_range(const void* data, std::size_t bytes, std::uint64_t& address) {
  address = reinterpret_cast<std::uint64_t>(data);
  if (bytes == 0 || !device::driver_present()) return {};
  // The kernel treats a read of our own pages as it would treat a peer's. Testing
  // the first and the last byte suffices, since such memory is mapped in one piece.
  char byte = 0;
  const int self = peers_->process_of(peers_->rank);
  if (read_process(self, &byte, address, 1).ok() && read_process(self, &byte, address + bytes - 1, 1).ok()) return {};
  CROSSRAIL_TRY(exported_.reserve(bytes));
  std::memcpy(exported_.memory.get(), data, bytes);
  address = reinterpret_cast<std::uint64_t>(exported_.memory.get());
  return {};
}

Status MpiLinks::read_peer(int rank, void* to, std::uint64_t address, std::size_t bytes) {
  const Status read = read_process(peers_->process_of(rank), to, address, bytes);
  return read.code == Code::peer_lost ? failure(Code::peer_lost, "rank %d has ended", rank) : read;
}

Status MpiLinks::write_peer(int rank, const void* from, std::uint64_t address, std::size_t bytes) {
  return write_process(peers_->process_of(rank), from, address, bytes);
}

}  // namespace crossrail::mpi
