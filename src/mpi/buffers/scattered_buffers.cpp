#include "mpi/buffers/scattered_buffers.h"

#include <algorithm>

namespace crossrail::mpi {

// In place, the result must not be written before all ranks have read this
// rank's blocks, which it overwrites. Therefore it first goes to a row of ours.
Status ScatteredBuffers::open(Buffers& buffers, const Plan* plan) {
  result_ = nullptr;
  CROSSRAIL_TRY(PackedSides::open(buffers, plan));
  buffers.out = blocks_.data();
  const std::size_t bytes = recv_.bytes();
  if (buffers.send != buffers.recv || bytes == 0) return {};
  CROSSRAIL_TRY(memory_.reserve_staged(memory_.staged_recv, bytes));
  result_ = buffers.recv;
  buffers.recv = memory_.staged_recv.memory.get();
  return {};
}

Status ScatteredBuffers::close() {
  if (result_ != nullptr) copy_block(result_, memory_.staged_recv.memory.get(), recv_.bytes());
  return PackedSides::close();
}

DeviceCall ScatteredBuffers::on_devices() {
  DeviceCall call = PackedSides::on_devices();
  for (const Block& block : blocks_) call.block_bytes = std::max(call.block_bytes, block.bytes);
  return call;
}

Buffers ScatteredBuffers::device_buffers() {
  Buffers buffers = PackedSides::device_buffers();
  buffers.out = blocks_.data();
  return buffers;
}

}  // namespace crossrail::mpi
