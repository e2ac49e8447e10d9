// File descriptors from one process of a node to another: device drivers hand out memory as such.
//
// First way: a datagram socket of the process with SCM_RIGHTS. Its name, in the abstract namespace,
// cannot be guessed, and what comes from another user is dropped. Second way, where the socket cannot
// be reached (other network namespaces): pidfd_getfd, which needs the right to trace the process.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "device/device.h"

namespace crossrail {

// What a parcel of descriptors belongs to.
struct ParcelLabel {
  std::uint64_t control;  // number of the sender's lines
  std::uint64_t rank;   // in the node, that it is for
  std::uint64_t slot;
  std::uint64_t version;
  bool operator==(const ParcelLabel&) const = default;
};

using Chunks = std::vector<crossrail_chunk>;

// A number that nobody else has; never 0. And the one of this process.
std::uint64_t random_number();
std::uint64_t process_number();

// Name of this process's socket, opened at first use; 0 if there can be none.
std::uint64_t descriptor_socket();
// Sends to another process's socket; never waits. Errors: system.
Status send_descriptors(std::uint64_t socket, const ParcelLabel& label, const Chunks& chunks);
// Takes a parcel that has come, complete. The descriptors are then the caller's. Errors: system.
Status take_descriptors(const ParcelLabel& label, std::size_t count, Chunks& chunks);

// The second way. A file that lists chunks, by descriptor; -1 if there can be none.
int list_descriptors(const Chunks& chunks);
// Duplicates of what the file `list` of process `pid` lists. Errors: system.
Status fetch_descriptors(int pid, int list, std::size_t count, Chunks& chunks);

void close_descriptors(Chunks& chunks);

}  // namespace crossrail
