// In the alltoall of a SharedDevice, block i of every leader's buffer goes to the i-th leader's. Every process of a device moves a share of
// each block to the process of its place on the other device, through its room. Between devices of a node kernels copy whole blocks, where
// their processes have the memory mapped.
//
// It is the pairwise exchange of Bruck et al. 1997. The shares come from the multi-process-per-GPU allreduce paper, section IV.
#pragma once

#include "shared_device/shared_device.h"

namespace crossrail::shared_device {

// These are two buffers that do not overlap. Each has a block of `bytes` bytes for every device, in the order of their leaders.
struct Blocks {
  const Buffer& send;
  const Buffer& recv;
  std::size_t bytes;
};

// All ranks call it, with the same blocks.
Status alltoall(SharedDevice& device, const Blocks& blocks);

}  // namespace crossrail::shared_device
