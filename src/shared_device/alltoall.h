// The alltoall of a SharedDevice: block i of every leader's buffer goes to the i-th leader's. Every process of a device moves a share of
// each block to the process of its place on the other device, through its room; between devices of a node kernels copy whole blocks, where
// their processes have the memory mapped.
//
// From: pairwise exchange, Bruck et al. 1997; the shares: multi-process-per-GPU allreduce paper, section IV.
#pragma once

#include "shared_device/shared_device.h"

namespace crossrail::shared_device {

// Two buffers that do not overlap, with a block of so many bytes for every device, by their leaders.
struct Blocks {
  const Buffer& send;
  const Buffer& recv;
  std::size_t bytes;
};

// All ranks call it, with the same blocks.
Status alltoall(SharedDevice& device, const Blocks& blocks);

}  // namespace crossrail::shared_device
