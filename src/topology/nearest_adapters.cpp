#include "topology/nearest_adapters.h"

#include <climits>

namespace crossrail {
namespace {

hwloc_obj_t card_of(hwloc_obj_t device) {
  while (device != nullptr && device->type != HWLOC_OBJ_PCI_DEVICE) device = device->parent;
  return device;
}

// This counts the steps from the GPU's card up to what also holds the adapter's card.
struct Meeting {
  int steps = INT_MAX;
  hwloc_obj_t at = nullptr;
};

Meeting meeting(hwloc_obj_t gpu, hwloc_obj_t adapter) {
  int steps = 0;
  for (hwloc_obj_t from = gpu; from != nullptr; from = from->parent, ++steps) {
    for (hwloc_obj_t above = adapter; above != nullptr; above = above->parent) {
      if (above == from) return {steps, from};
    }
  }
  return {};
}

std::string words(hwloc_obj_t object) {
  switch (object->type) {
    case HWLOC_OBJ_PCI_DEVICE: return "card";
    case HWLOC_OBJ_BRIDGE: return object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI ? "PCI switch" : "PCI root";
    case HWLOC_OBJ_PACKAGE: return "package";
    case HWLOC_OBJ_MACHINE: return "machine";
    default: return "NUMA domain";
  }
}

bool has_verbs(hwloc_obj_t device) { return device->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS; }

// Returns whether the same card has a name that is better to show: mlx5_0 rather than eth0.
bool has_better_name(hwloc_obj_t adapter, const std::vector<hwloc_obj_t>& adapters) {
  if (has_verbs(adapter)) return false;
  for (const hwloc_obj_t other : adapters) {
    if (has_verbs(other) && card_of(other) == card_of(adapter)) return true;
  }
  return false;
}

}  // namespace

NearestAdapters nearest_adapters(hwloc_obj_t gpu, const std::vector<hwloc_obj_t>& adapters) {
  Meeting nearest;
  NearestAdapters found;
  for (const hwloc_obj_t adapter : adapters) {
    const hwloc_obj_t card = card_of(adapter);
    if (card == nullptr || adapter->name == nullptr || has_better_name(adapter, adapters)) continue;
    const Meeting here = meeting(card_of(gpu) == nullptr ? gpu : card_of(gpu), card);
    if (here.steps > nearest.steps || here.at == nullptr) continue;
    if (here.steps < nearest.steps) found.names.clear();
    nearest = here;
    found.names.emplace_back(adapter->name);
  }
  if (nearest.at != nullptr) found.within = words(nearest.at);
  return found;
}

}  // namespace crossrail
