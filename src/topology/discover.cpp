// This file finds out where this process runs: its host, pid namespace, cores and NUMA domain.

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/bytes.h"
#include "base/host_name.h"
#include "base/log.h"
#include "base/process_name.h"
#include "base/random.h"
#include "base/settings.h"
#include "topology/topology.h"

namespace crossrail {
namespace {

// Peers try to read this word with process_vm_readv. It lives as long as the process.
const std::uint64_t probe_value = random_word();

std::uint64_t host_hash() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id") >> std::ws, boot);
  const std::string host = host_name() + '/' + boot;
  return hash_bytes(host.data(), host.size());
}

// Returns entry `world_rank` of CROSSRAIL_NODES (0,0,1,1), or -1 if there is none.
int node_override(int world_rank) {
  const std::string& nodes = process_settings().nodes;
  if (nodes.empty() || world_rank < 0) return -1;
  std::stringstream list(nodes);
  std::string entry;
  for (int rank = 0; std::getline(list, entry, ','); ++rank) {
    if (rank == world_rank) return std::atoi(entry.c_str());
  }
  if (first_time("nodes too short")) {
    log_line(LogLevel::error, "CROSSRAIL_NODES=%s has no entry for rank %d: its real node is used",
             nodes.c_str(), world_rank);
  }
  return -1;
}

// Returns the NUMA domain that lists `cpu`, from sysfs, or -1 if the kernel names none.
int domain_of_cpu(int cpu) {
  for (int domain = 0; domain < 1024; ++domain) {
    char path[96];
    std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/node%d", cpu, domain);
    if (access(path, F_OK) == 0) return domain;
    std::snprintf(path, sizeof path, "/sys/devices/system/node/node%d", domain);
    if (domain > 0 && access(path, F_OK) != 0) break;
  }
  return -1;
}

void describe_cores(Location& location) {
  location.first_cpu = 0;
  location.cpu_count = 1;
  location.domain = -1;
  constexpr int kCpus = 8192;
  cpu_set_t* cpus = CPU_ALLOC(kCpus);
  const std::size_t bytes = CPU_ALLOC_SIZE(kCpus);
  if (sched_getaffinity(0, bytes, cpus) == 0) {
    location.cpu_count = CPU_COUNT_S(bytes, cpus);
    while (location.first_cpu < kCpus && !CPU_ISSET_S(location.first_cpu, bytes, cpus)) ++location.first_cpu;
    location.domain = domain_of_cpu(location.first_cpu);
  }
  CPU_FREE(cpus);
}

}  // namespace

std::uint64_t own_pid_space() {
  static const std::uint64_t number = pid_space();
  return number;
}

namespace {

Location examine_this_process() {
  Location location{};
  location.machine = host_hash();
  location.probe_value = probe_value;
  location.probe_address = reinterpret_cast<std::uint64_t>(&probe_value);
  location.pid_space = own_pid_space();
  location.pid = static_cast<std::int32_t>(getpid());
  describe_cores(location);
  return location;
}

}  // namespace

Location discover_location(int world_rank) {
  static const Location known = examine_this_process();
  Location location = known;
  const int node = node_override(world_rank);
  location.host = node < 0 ? known.machine : hash_word(known.machine, static_cast<std::uint64_t>(node) + 1);
  const std::string settings = communicator_settings_text(process_settings());
  location.settings = hash_bytes(settings.data(), settings.size());
  return location;
}

}  // namespace crossrail
