// Collectives by packets share this code: rounds of packets through the ranks' receive buffers.
#pragma once

#include <algorithm>

#include "collectives/device_rounds.h"

namespace crossrail {

static_assert(CROSSRAIL_MOST_COMBINING == 8);
inline constexpr const char* kFewCombining = "at most 8 ranks";

// A PacketForm has the longest block that travels in it, the most bytes of all blocks, and the most ranks.
struct PacketForm {
  crossrail_packet_form form;
  std::size_t most, most_of_row;
  int most_ranks;

  std::size_t most_bytes(int ranks) const { return std::min(most, most_of_row / static_cast<std::size_t>(ranks)); }
  // Returns the longest block of those that so many ranks exchange in this form, or 0 if they are too many for it.
  std::size_t longest(int ranks) const { return ranks <= most_ranks ? most_bytes(ranks) : 0; }
  Fit fit(const Topology& topology) const {
    return fit_devices(topology).needs(topology.size <= most_ranks, kFewCombining).at_most(most_bytes(topology.size));
  }
  // Elements that are combined must be whole in a unit: as many as fit are put into it, or one if it does not divide the unit.
  Fit fit_elements(const Topology& topology, const Shape& shape) const;
  // This is for a reduce_scatter_block in a stream's order.
  Fit fit_scattered(const Topology& topology, const Shape& shape) const {
    return fit_elements(topology, shape).needs(shape.order == Order::stream, kStreamOrder).needs(!shape.in_place, "two buffers, not MPI_IN_PLACE");
  }
};
inline constexpr PacketForm kLL{CROSSRAIL_PACKETS_LL, 16 * 1024, std::size_t{1} << 20, 1 << 20};
inline constexpr PacketForm kLL128{CROSSRAIL_PACKETS_LL128, std::size_t{4} << 20, std::size_t{8} << 20, CROSSRAIL_MOST_COMBINING};
// These take blocks of any length, in a stream's order.
inline constexpr PacketForm kChunks{CROSSRAIL_PACKETS_CHUNKS, std::size_t{1} << 50, std::size_t{1} << 60, CROSSRAIL_MOST_COMBINING};

Status plan_packets(Plan& plan, const PacketForm& form);
// This is for packets that are combined on their way.
Status plan_combined_packets(Plan& plan, const PacketForm& form);

// The blocks of a side follow each other at this distance; 0 means that one block is for all ranks.
struct PacketSides {
  const std::byte* send;
  std::byte* recv;
  std::size_t send_pitch, recv_pitch;
  std::size_t block_bytes;
};
// Both enqueue in a stream's order. The first moves every rank's block to each
// other rank; the second also combines what a rank gets by the plan's reduction.
Status enqueue_packets(Plan& plan, void* stream, const PacketForm& form, const PacketSides& sides);
Status enqueue_combined_packets(Plan& plan, void* stream, const PacketForm& form, const PacketSides& sides);

// These run an allgather and a reduce_scatter_block in a stream's order.
Status gather_packets(Plan& plan, const Buffers& buffers, const PacketForm& form);
Status scatter_packets(Plan& plan, const Buffers& buffers, const PacketForm& form);
// These run an alltoall and an allreduce, in either order.
Status exchange_packets(Plan& plan, const Buffers& buffers, const PacketForm& form);
Status reduce_packets(Plan& plan, const Buffers& buffers, const PacketForm& form);

}  // namespace crossrail
