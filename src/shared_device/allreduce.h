// In the allreduce of a SharedDevice, elements of all devices' leaders are combined where they lie, and every process drives a share of
// them.
//
//   lanes      The processes of a node each have a share of the elements. Kernels combine it, from the memory of all leaders of the node,
//              into the process's room; the processes that have the same share in their nodes combine it by messages; kernels write it to
//              all leaders. In one node, kernels combine it straight from leaders to leaders.
//   standard   The processes of a device each have a share of its leader's elements. It is copied into the process's room, those of the
//              same place on all devices combine it by messages, and it is copied back. This needs no kernel that combines, and no memory
//              of another process.
//
// Both go part by part. Devices have the part before and the part after the one that is with the network.
//
// The source is the multi-process-per-GPU allreduce paper, section IV. The lanes are its algorithm 2 and come from Traeff and Hunold 2020.
#pragma once

#include "comm/reduction.h"
#include "shared_device/shared_device.h"

namespace crossrail::shared_device {

struct Elements {
  std::size_t offset;  // It counts bytes from the beginning of the buffer.
  std::size_t count;
  Reduction reduction;
};

// This works in place, in the buffer of every leader. All ranks call it, with the same elements.
Status allreduce(SharedDevice& device, const Buffer& buffer, const Elements& elements);

}  // namespace crossrail::shared_device
