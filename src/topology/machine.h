// Machine describes the hardware as hwloc sees it, for people and for 'crossrail doctor'. No choice between algorithms depends on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace crossrail {

struct Machine {
  struct Domain {  // a NUMA domain
    int number;
    std::string cpus;  // "0-31,64-95"
    std::uint64_t memory_bytes;
  };
  struct Cache {
    int level;
    std::uint64_t bytes;  // bytes of one of them
    int count;
  };
  struct Device {
    std::string name;   // "cuda0", "eth0"
    std::string model;  // empty if it is not known
    int domain;         // -1 if several domains are equally near
    std::string bus;    // "0000:1b:00.0", or empty if it is on no bus
  };
  struct Gpu : Device {
    std::vector<std::string> nearest_adapters;  // "mlx5_0"; several if they are equally near
    std::string within;                         // the part of the machine that holds both (nearest_adapters.h), or empty if there is none
  };
  int packages = 0;
  int cores = 0;
  int threads = 0;
  std::string host;
  std::string cpu;
  std::uint64_t memory_bytes = 0;
  std::vector<Domain> domains;
  std::vector<Cache> caches;
  std::vector<Gpu> gpus;
  std::vector<Device> nics;
};

// Fills `machine`. Errors: unsupported (hwloc cannot be loaded, or was not there when crossrail was built), system.
Status discover_machine(Machine& machine);

}  // namespace crossrail
