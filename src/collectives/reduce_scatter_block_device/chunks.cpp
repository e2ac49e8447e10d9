// What   As alltoall_device/chunks. The kernel combines what has come with its own in the order of the ranks.
// When   One node, in a stream's order, blocks of some hundred kilobytes and more.
// Cost   As alltoall_device/chunks.
// Needs  Receive buffers in device memory; 8 ranks at most; not in place. No rank needs the address of another one's buffers, or waits for another on the host.
// From   NCCL's simple protocol.

#include "collectives/device_packets.h"

namespace crossrail::reduce_scatter_block_device::chunks {
Fit fit(const Topology& topology, const Shape& shape) { return kChunks.fit_scattered(topology, shape); }
Status plan(Plan& plan) { return plan_combined_packets(plan, kChunks); }
Status run(Plan& plan, const Buffers& buffers) { return scatter_packets(plan, buffers, kChunks); }
}  // namespace crossrail::reduce_scatter_block_device::chunks
