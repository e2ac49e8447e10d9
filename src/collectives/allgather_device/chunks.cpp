// What   As alltoall_device/chunks, with one block for all receivers.
// When   One node, in a stream's order, blocks of a megabyte and more.
// Cost   As alltoall_device/chunks.
// Needs  Receive buffers in device memory; 8 ranks at most. No rank needs the address of another one's buffers, or waits for another on the host.
// From   NCCL's simple protocol.

#include "collectives/device_packets.h"

namespace crossrail::allgather_device::chunks {
Fit fit(const Topology& topology, const Shape& shape) { return kChunks.fit(topology).needs(shape.order == Order::stream, kStreamOrder); }
Status plan(Plan& plan) { return plan_packets(plan, kChunks); }
Status run(Plan& plan, const Buffers& buffers) { return gather_packets(plan, buffers, kChunks); }
}  // namespace crossrail::allgather_device::chunks
