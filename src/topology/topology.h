// Topology says who sits where, and what the ranks of a node can share. It is a value: it is discovered when a communicator is opened,
// written by hand in a test, or overridden by CROSSRAIL_NODES.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "topology/group.h"

namespace crossrail {

// This says who advances the pending calls of a process: nobody, the progress of its MPI library by a hook, or a thread that may not call MPI.
enum class Advancing : std::int32_t { nobody, hook, mover };

// Location is where one process runs, as it tells the others. It consists of plain bytes, because it travels as a message.
struct Location {
  std::uint64_t host;           // It is a hash of boot id, host name and CROSSRAIL_NODES entry: the node.
  std::uint64_t machine;        // It is a hash of boot id and host name.
  std::uint64_t mpi;            // It is a hash of what its MPI library says of its version.
  std::uint64_t settings;       // It is a hash of the communicator settings this process would use.
  std::uint64_t probe_value;    // It is a random word of this process.
  std::uint64_t probe_address;  // The word lies here, so that peers can try process_vm_readv.
  std::uint64_t pid_space;      // It is the inode of the pid namespace.
  std::int32_t pid;
  std::int32_t domain;     // It is the NUMA domain of the first core it may run on, -1 if unknown.
  std::int32_t first_cpu;  // It is the first logical CPU it may run on.
  std::int32_t cpu_count;  // It may run on this many logical CPUs.
  std::int32_t blind;      // It is 1 if the process has a GPU driver but no module to tell device pointers.
  std::int32_t devices;    // It is 1 if the process has a GPU driver, or may load one because the machine has GPUs.
  Advancing advancing;     // This advances its pending calls.
  std::int32_t helpers;   // It has this many helper processes, and `helper_number` is their number in their jobs.
  std::int32_t helper_number;
  std::uint64_t helper_job;  // It is a hash of the key of those jobs.
  // The following are about the common private communicator (mpi/communicator/message_space.h), and 0 if the process knows none.
  std::uint64_t common_name;
  std::uint64_t common_serial;  // The process calls this communicator so there.
  std::int64_t common_rank;     // This is the process's rank there.
};

// Returns the inode of this process's pid namespace, in which alone its pid is its own, or 0 if unknown.
std::uint64_t own_pid_space();
// Returns this process's location, which is looked up once, except for what settings say. `world_rank` picks the entry of CROSSRAIL_NODES,
// and is -1 if there is none.
Location discover_location(int world_rank);

struct Topology {
  int rank = 0;
  int size = 1;
  std::vector<int> node_of;  // It is the node of every rank; nodes are numbered by first rank.

  // The levels, from inside out. Which ranks share a device is found out later, with the program's first buffers there
  // (DeviceQueue::devices). A level of fabric domains, which may span nodes, would come before the world.
  std::vector<Group> domains;  // These are the ranks of every NUMA domain of this node. It is empty if the domain of one is not known.
  std::vector<Group> nodes;    // These are the ranks of every node, in ascending order.
  Group world() const { return Group::world(size, rank); }
  // The groups across the nodes have their ranks in the order of the nodes.
  Group leaders;  // These are the first ranks of all nodes.
  Group lane;     // These ranks have this rank's number in their node, for the nodes that have so many.

  // All ranks have agreed on these, which are equal on every rank.
  bool shared_segment = false;  // The ranks of every node share a segment.
  bool single_copy = false;     // Every rank may read the memory of the others in its node.
  std::uint64_t scratch_bytes = 0;
  bool rank_order = false;      // It says whether reductions combine strictly in the order of the ranks (CROSSRAIL_REPRODUCIBLE).
  std::string mpi;              // It is like "openmpi4.1.6" (mpi_version.h), or empty if it is unknown or not the same on all ranks.

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
  std::string text() const;  // It is "8 ranks on 2 nodes (5+3)", for example.

  GroupLists lists;  // It keeps the lists of the groups.
};

// Makes a Topology by hand from the node of every rank. Any labels will do.
Topology topology_from_nodes(const std::vector<int>& node_of, int rank);
Topology topology_from_locations(const std::vector<Location>& locations, int rank);

}  // namespace crossrail
