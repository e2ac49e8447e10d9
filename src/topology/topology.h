// Topology is who sits where, and what the ranks of a node can share. It is a value: discovered when a communicator is opened, written by
// hand in a test, or overridden by CROSSRAIL_NODES.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "topology/group.h"

namespace crossrail {

// Says who advances the pending calls of a process: nobody, the progress of its MPI library by a hook, or a thread that may not call MPI.
enum class Advancing : std::int32_t { nobody, hook, mover };

// Location is where one process runs, as it tells the others. It consists of plain bytes, because it travels as a message.
struct Location {
  std::uint64_t host;           // hash of boot id, host name and CROSSRAIL_NODES entry: the node
  std::uint64_t machine;        // hash of boot id and host name
  std::uint64_t mpi;            // hash of what its MPI library says of its version
  std::uint64_t settings;       // hash of the communicator settings this process would use
  std::uint64_t probe_value;    // random word of this process ...
  std::uint64_t probe_address;  // ... and where it lies, to try process_vm_readv
  std::uint64_t pid_space;      // inode of the pid namespace
  std::int32_t pid;
  std::int32_t domain;     // NUMA domain of the first core it may run on, -1 if unknown
  std::int32_t first_cpu;  // first logical CPU it may run on
  std::int32_t cpu_count;  // how many logical CPUs it may run on
  std::int32_t blind;      // 1: has a GPU driver but no module to tell device pointers
  std::int32_t devices;    // 1: has a GPU driver, or may load one: the machine has GPUs
  Advancing advancing;     // who advances its pending calls
  std::int32_t helpers;   // its helper processes, and their number in their jobs
  std::int32_t helper_number;
  std::uint64_t helper_job;  // hash of the key of those jobs
  // The following are about the common private communicator (mpi/communicator/message_space.h), and 0 if the process knows none.
  std::uint64_t common_name;
  std::uint64_t common_serial;  // what the process calls this communicator there
  std::int64_t common_rank;     // the process's rank there
};

// Returns the inode of this process's pid namespace, in which alone its pid is its own, or 0 if unknown.
std::uint64_t own_pid_space();
// Returns this process's location, which is looked up once, except for what settings say. `world_rank` picks the entry of CROSSRAIL_NODES,
// and is -1 if there is none.
Location discover_location(int world_rank);

struct Topology {
  int rank = 0;
  int size = 1;
  std::vector<int> node_of;  // node of every rank; nodes are numbered by first rank

  // The levels, from inside out. Which ranks share a device is found out later, with the program's first buffers there
  // (DeviceQueue::devices). A level of fabric domains, which may span nodes, would come before the world.
  std::vector<Group> domains;  // the ranks of every NUMA domain of this node; empty if the domain of one is not known
  std::vector<Group> nodes;    // the ranks of every node, ascending
  Group world() const { return Group::world(size, rank); }
  // The groups across the nodes have their ranks in the order of the nodes.
  Group leaders;  // the first rank of each node
  Group lane;     // the ranks with this rank's number in their node, for the nodes that have so many

  // All ranks have agreed on these, which are equal on every rank.
  bool shared_segment = false;  // the ranks of every node share a segment
  bool single_copy = false;     // every rank may read the memory of the others in its node
  std::uint64_t scratch_bytes = 0;
  bool rank_order = false;      // whether reductions combine strictly in the order of the ranks (CROSSRAIL_REPRODUCIBLE)
  std::string mpi;              // "openmpi4.1.6" (mpi_version.h), or empty if it is unknown or not the same on all ranks

  // This rank's node has more ranks than cores, so that a wait must give its core away at once.
  bool oversubscribed = false;

  int node() const { return node_of[rank]; }
  int node_rank() const { return node_ranks().index(); }
  int node_count() const { return static_cast<int>(nodes.size()); }
  const Group& node_ranks() const { return nodes[node()]; }
  int node_size() const { return node_ranks().size(); }
  int largest_node() const;
  int smallest_node() const;
  bool one_node() const { return nodes.size() == 1; }
  std::string text() const;  // "8 ranks on 2 nodes (5+3)"

  GroupLists lists;  // keeps the lists of the groups
};

// Makes a Topology by hand from the node of every rank. Any labels will do.
Topology topology_from_nodes(const std::vector<int>& node_of, int rank);
Topology topology_from_locations(const std::vector<Location>& locations, int rank);

}  // namespace crossrail
