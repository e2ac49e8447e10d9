// This file reads the machine through hwloc, which is loaded only when somebody asks.

#include "topology/machine.h"

#ifdef CROSSRAIL_HWLOC

#include <dlfcn.h>
#include <hwloc.h>

#include <algorithm>
#include <cstdio>

#include "base/host_name.h"
#include "topology/nearest_adapters.h"

namespace crossrail {
namespace {

// These are the functions of libhwloc, under the names of its header.
struct Hwloc {
#define CROSSRAIL_HWLOC_FUNCTIONS(X)                                                             \
  X(get_api_version) X(topology_init) X(topology_destroy) X(topology_load)                       \
  X(topology_set_io_types_filter) X(get_type_depth) X(get_nbobjs_by_depth) X(get_obj_by_depth)   \
  X(bitmap_first) X(bitmap_weight) X(bitmap_list_snprintf)
#define CROSSRAIL_MEMBER(name) decltype(&hwloc_##name) name = nullptr;
  CROSSRAIL_HWLOC_FUNCTIONS(CROSSRAIL_MEMBER)
#undef CROSSRAIL_MEMBER
};

bool load(Hwloc& hwloc) {
  void* const library = dlopen("libhwloc.so.15", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return false;
#define CROSSRAIL_FIND(name)                                                      \
  hwloc.name = reinterpret_cast<decltype(hwloc.name)>(dlsym(library, "hwloc_" #name)); \
  if (hwloc.name == nullptr) return false;
  CROSSRAIL_HWLOC_FUNCTIONS(CROSSRAIL_FIND)
#undef CROSSRAIL_FIND
  return hwloc.get_api_version() >> 16 == HWLOC_API_VERSION >> 16;
}

// Returns null if there is no hwloc of the kind that crossrail was built for.
const Hwloc* find_hwloc() {
  static Hwloc hwloc;
  static const bool loaded = load(hwloc);
  return loaded ? &hwloc : nullptr;
}

// This holds hwloc's tree of this machine, and its objects by type.
class Tree {
 public:
  explicit Tree(const Hwloc& hwloc) : hwloc_(hwloc) {}
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() {
    if (topology_ != nullptr) hwloc_.topology_destroy(topology_);
  }
  bool load() {
    return hwloc_.topology_init(&topology_) == 0 &&
           hwloc_.topology_set_io_types_filter(topology_, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) == 0 &&
           hwloc_.topology_load(topology_) == 0;
  }
  int count(hwloc_obj_type_t type) const {
    const int depth = hwloc_.get_type_depth(topology_, type);
    if (depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE) return 0;
    return static_cast<int>(hwloc_.get_nbobjs_by_depth(topology_, depth));
  }
  hwloc_obj_t object(hwloc_obj_type_t type, int number) const {
    return hwloc_.get_obj_by_depth(topology_, hwloc_.get_type_depth(topology_, type), static_cast<unsigned>(number));
  }
  std::string cpus(hwloc_obj_t object) const {
    char text[1024] = "";
    if (object->cpuset != nullptr) hwloc_.bitmap_list_snprintf(text, sizeof text, object->cpuset);
    return text;
  }
  // Returns the one memory domain next to a device, or -1 if there are several or none.
  int domain(hwloc_obj_t device) const {
    while (device != nullptr && device->nodeset == nullptr) device = device->parent;
    if (device == nullptr || hwloc_.bitmap_weight(device->nodeset) != 1) return -1;
    return hwloc_.bitmap_first(device->nodeset);
  }

 private:
  const Hwloc& hwloc_;
  hwloc_topology_t topology_ = nullptr;
};

std::string info(hwloc_obj_t object, const char* name) {
  const char* const text = object == nullptr ? nullptr : hwloc_obj_get_info_by_name(object, name);
  return text == nullptr ? "" : text;
}

void describe_processors(const Tree& tree, Machine& machine) {
  machine.packages = tree.count(HWLOC_OBJ_PACKAGE);
  machine.cores = tree.count(HWLOC_OBJ_CORE);
  machine.threads = tree.count(HWLOC_OBJ_PU);
  machine.host = host_name();
  if (machine.packages > 0) machine.cpu = info(tree.object(HWLOC_OBJ_PACKAGE, 0), "CPUModel");
  for (int level = 1; level <= 5; ++level) {
    const auto type = static_cast<hwloc_obj_type_t>(HWLOC_OBJ_L1CACHE + level - 1);
    const int count = tree.count(type);
    if (count > 0) machine.caches.push_back({level, tree.object(type, 0)->attr->cache.size, count});
  }
}

void describe_memory(const Tree& tree, Machine& machine) {
  for (int number = 0; number < tree.count(HWLOC_OBJ_NUMANODE); ++number) {
    const hwloc_obj_t node = tree.object(HWLOC_OBJ_NUMANODE, number);
    const std::uint64_t bytes = node->attr->numanode.local_memory;
    machine.domains.push_back({static_cast<int>(node->os_index), tree.cpus(node), bytes});
    machine.memory_bytes += bytes;
  }
}

std::string pci_address(hwloc_obj_t device) {
  if (device->type != HWLOC_OBJ_PCI_DEVICE) return "";
  const auto& at = device->attr->pcidev;
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%01x", static_cast<unsigned>(at.domain),
                static_cast<unsigned>(at.bus), static_cast<unsigned>(at.dev), static_cast<unsigned>(at.func));
  return text;
}

bool is_network(hwloc_obj_t device) {
  return device->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK || device->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
}

bool is_gpu(hwloc_obj_t device) {
  return device->attr->osdev.type == HWLOC_OBJ_OSDEV_GPU || device->attr->osdev.type == HWLOC_OBJ_OSDEV_COPROC;
}

// Describes a device that a driver has given a name, or a card to which none has given one.
Machine::Device device_of(const Tree& tree, hwloc_obj_t device) {
  const hwloc_obj_t card = device->type == HWLOC_OBJ_OS_DEVICE ? device->parent : device;
  std::string model = info(device, "GPUModel");
  if (model.empty() && card->type == HWLOC_OBJ_PCI_DEVICE) model = info(card, "PCIDevice");
  const std::string bus = pci_address(card);
  return {device == card ? bus : device->name, model, tree.domain(device), bus};
}

// Ranks the names of a GPU, which has one for every driver that knows it (cuda0, nvml0, card1). The first of these is shown.
int rank_of_name(const std::string& name) {
  const char* const order[] = {"cuda", "rsmi", "ze", "nvml", "opencl"};
  const auto found = std::find_if(std::begin(order), std::end(order), [&](const char* one) { return name.rfind(one, 0) == 0; });
  return static_cast<int>(found - std::begin(order));
}

// Returns whether this is a 3D controller or accelerator to which no driver has given a name.
bool is_accelerator(hwloc_obj_t device) {
  const unsigned kind = device->attr->pcidev.class_id;
  return kind == 0x0302 || kind >> 8 == 0x12;
}

std::vector<hwloc_obj_t> named_devices(const Tree& tree, bool (*wanted)(hwloc_obj_t)) {
  std::vector<hwloc_obj_t> found;
  for (int number = 0; number < tree.count(HWLOC_OBJ_OS_DEVICE); ++number) {
    const hwloc_obj_t device = tree.object(HWLOC_OBJ_OS_DEVICE, number);
    if (device->name != nullptr && wanted(device)) found.push_back(device);
  }
  return found;
}

// Returns every GPU once.
std::vector<hwloc_obj_t> gpus_of(const Tree& tree) {
  std::vector<hwloc_obj_t> gpus, places;
  for (const hwloc_obj_t device : named_devices(tree, is_gpu)) {
    const hwloc_obj_t place = device->parent->type == HWLOC_OBJ_PCI_DEVICE ? device->parent : device;
    const auto known = std::find(places.begin(), places.end(), place);
    if (known == places.end()) {
      places.push_back(place);
      gpus.push_back(device);
      continue;
    }
    hwloc_obj_t& other = gpus[static_cast<std::size_t>(known - places.begin())];
    if (rank_of_name(device->name) < rank_of_name(other->name)) other = device;
  }
  for (int number = 0; number < tree.count(HWLOC_OBJ_PCI_DEVICE); ++number) {
    const hwloc_obj_t card = tree.object(HWLOC_OBJ_PCI_DEVICE, number);
    if (is_accelerator(card) && std::find(places.begin(), places.end(), card) == places.end()) gpus.push_back(card);
  }
  return gpus;
}

void describe_devices(const Tree& tree, Machine& machine) {
  const std::vector<hwloc_obj_t> adapters = named_devices(tree, is_network);
  for (const hwloc_obj_t adapter : adapters) machine.nics.push_back(device_of(tree, adapter));
  for (const hwloc_obj_t gpu : gpus_of(tree)) {
    NearestAdapters nearest = nearest_adapters(gpu, adapters);
    machine.gpus.push_back({device_of(tree, gpu), std::move(nearest.names), std::move(nearest.within)});
  }
}

}  // namespace

Status discover_machine(Machine& machine) {
  const Hwloc* const hwloc = find_hwloc();
  if (hwloc == nullptr) return failed(Code::unsupported, "libhwloc.so.15 cannot be loaded");
  Tree tree(*hwloc);
  if (!tree.load()) return failed(Code::system, "hwloc cannot read this machine");
  describe_processors(tree, machine);
  describe_memory(tree, machine);
  describe_devices(tree, machine);
  return {};
}

}  // namespace crossrail

#else

namespace crossrail {

Status discover_machine(Machine&) { return failed(Code::unsupported, "crossrail was built without hwloc"); }

}  // namespace crossrail

#endif
