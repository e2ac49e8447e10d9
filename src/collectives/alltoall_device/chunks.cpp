// What   A kernel on every device writes this rank's blocks to the receivers' receive buffers, chunk by chunk, with flags beside them, and copies
//        what has come into the program's buffer. Every CTA has a slice of all blocks and goes on by itself.
// When   One node, in a stream's order, blocks of a megabyte and more.
// Cost   One kernel launch + m(p-1) bytes through the device's links, and once more through its memory.
// Needs  Receive buffers in device memory; 8 ranks at most. No rank needs the address of another one's buffers, or waits for another on the host.
// From   NCCL's simple protocol.

#include "collectives/device_packets.h"

namespace crossrail::alltoall_device::chunks {
Fit fit(const Topology& topology, const Shape& shape) { return kChunks.fit(topology).needs(shape.order == Order::stream, kStreamOrder); }
Status plan(Plan& plan) { return plan_packets(plan, kChunks); }
Status run(Plan& plan, const Buffers& buffers) { return exchange_packets(plan, buffers, kChunks); }
}  // namespace crossrail::alltoall_device::chunks
