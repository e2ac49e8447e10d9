// This passes file descriptors from one process of a node to another, because device drivers hand out memory as file descriptors.
//
// The first way is a datagram socket of the process with SCM_RIGHTS. Its name, in the abstract namespace, cannot be guessed, and the
// process drops what comes from another user. The second way serves where the socket cannot be reached (other network namespaces). It is
// pidfd_getfd, which needs the right to trace the process.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "device/device.h"

namespace crossrail {

// This says what a parcel of descriptors belongs to.
struct ParcelLabel {
  std::uint64_t control;  // It is the number of the sender's lines.
  std::uint64_t rank;   // It is the rank in the node that the parcel is for.
  std::uint64_t slot;
  std::uint64_t version;
  bool operator==(const ParcelLabel&) const = default;
};

using Chunks = std::vector<crossrail_chunk>;

// The first function returns a number that nobody else has and that is never 0. The second returns such a number of this process.
std::uint64_t random_number();
std::uint64_t process_number();

// Returns the name of this process's socket, which the first use opens. It is 0 if there can be none.
std::uint64_t descriptor_socket();
// Sends to another process's socket and never waits. It may fail with system.
Status send_descriptors(std::uint64_t socket, const ParcelLabel& label, const Chunks& chunks);
// Takes a complete parcel that has come. The descriptors are then the caller's. It may fail with system.
Status take_descriptors(const ParcelLabel& label, std::size_t count, Chunks& chunks);

// This is the second way. The function returns the descriptor of a file that lists chunks, or -1 if there can be none.
int list_descriptors(const Chunks& chunks);
// Fetches duplicates of what the file `list` of process `pid` lists. It may fail with system.
Status fetch_descriptors(int pid, int list, std::size_t count, Chunks& chunks);

void close_descriptors(Chunks& chunks);

}  // namespace crossrail
