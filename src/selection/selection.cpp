#include "selection/selection.h"

#include <algorithm>

namespace crossrail {

bool suits(const TuningRow& row, const Topology& topology) {
  return row.nodes.contains(static_cast<std::uint64_t>(topology.node_count())) &&
         row.ranks_per_node.contains(static_cast<std::uint64_t>(topology.largest_node()));
}

bool could_serve(const std::vector<TuningRow>& rows, const Settings& settings, const Topology& topology, bool devices) {
  for (const Collective collective : kCollectives) {
    const std::string& wanted = wanted_algorithm(settings, collective);
    if (!wanted.empty() && wanted != "native") return true;
  }
  if (topology.size == 1) return false;  // A stream's order is an exception: a single rank gets ready for it when it asks.
  if (settings.reproducible != 0) return true;
  MpiVersion mpi;
  (void)parse_mpi_version(topology.mpi, mpi);
  return std::any_of(rows.begin(), rows.end(), [&](const TuningRow& row) {
    const bool of_devices = row.memory != name_of(Memory::host) && !topology.one_node();
    return row.algorithm != "native" && suits(row, topology) && row.mpi.contains(mpi) && (devices || !of_devices);
  });
}

}  // namespace crossrail
