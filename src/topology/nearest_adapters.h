// This finds the network adapters that a GPU reaches over the fewest steps of the machine's PCI tree. It is there only if crossrail is built
// with hwloc.
#pragma once

#include <hwloc.h>

#include <string>
#include <vector>

namespace crossrail {

struct NearestAdapters {
  // These are names such as "mlx5_0": the name among InfiniBand's verbs if the card has one. It is empty if there is no adapter.
  std::vector<std::string> names;
  // This is the smallest part of the machine that holds both: "PCI switch", "PCI root", "NUMA domain", "package" or "machine".
  std::string within;
};

// `adapters` are hwloc's objects of all network devices. Those on no bus (bridges, tunnels) do not count.
NearestAdapters nearest_adapters(hwloc_obj_t gpu, const std::vector<hwloc_obj_t>& adapters);

}  // namespace crossrail
