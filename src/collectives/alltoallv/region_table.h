// A region that leaders exchange begins with a table of its blocks' lengths, by sender and receiver, because receivers may expect more than that.
#pragma once

#include "collectives/leader_pipeline.h"

namespace crossrail::alltoallv {

using TableEntry = std::uint16_t;
inline constexpr TableEntry kAsMessage = 0xffff;  // The block is long and is not in the region.
inline constexpr std::size_t kLongestInTable = kAsMessage - 1;

// Returns the size of a table between this node and another one, in either direction.
inline std::size_t table_bytes(const Topology& topology, int node) {
  return round_up(ranks_on(topology, topology.node()) * ranks_on(topology, node) * sizeof(TableEntry), sizeof(std::uint64_t));
}

// Returns the row of one sender of this node in the table of a region for another node.
inline TableEntry* row_for(const Topology& topology, std::byte* region, int node) {
  return reinterpret_cast<TableEntry*>(region) + static_cast<std::size_t>(topology.node_rank()) * ranks_on(topology, node);
}

// Returns the table of a region that has come from a node, as [sender][receiver].
inline std::span<const TableEntry> table_of(const Topology& topology, int node, const std::byte* region) {
  return {reinterpret_cast<const TableEntry*>(region), ranks_on(topology, topology.node()) * ranks_on(topology, node)};
}

inline std::size_t bytes_of(TableEntry entry) { return entry == kAsMessage ? 0 : entry; }

inline std::size_t region_length(const Plan& plan, int node, const std::byte* region) {
  std::size_t bytes = table_bytes(*plan.topology, node);
  for (const TableEntry entry : table_of(*plan.topology, node, region)) bytes += bytes_of(entry);
  return bytes;
}

}  // namespace crossrail::alltoallv
