// Machine describes the hardware as hwloc sees it, for people and for 'crossrail doctor'. No choice between algorithms depends on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace crossrail {

struct Machine {
  struct Domain {  // This is a NUMA domain.
    int number;
    std::string cpus;  // It is "0-31,64-95", for example.
    std::uint64_t memory_bytes;
  };
  struct Cache {
    int level;
    std::uint64_t bytes;  // One of them has this many bytes.
    int count;
  };
  struct Device {
    std::string name;   // It is "cuda0" or "eth0", for example.
    std::string model;  // It is empty if it is not known.
    int domain;         // It is -1 if several domains are equally near.
    std::string bus;    // It is "0000:1b:00.0", for example, or empty if the device is on no bus.
  };
  struct Gpu : Device {
    std::vector<std::string> nearest_adapters;  // It holds "mlx5_0", for example, and several if they are equally near.
    std::string within;                         // This part of the machine holds both (nearest_adapters.h). It is empty if there is none.
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

// Fills `machine`. It may fail with unsupported (hwloc cannot be loaded, or was not there when crossrail was built) or with system.
Status discover_machine(Machine& machine);

}  // namespace crossrail
