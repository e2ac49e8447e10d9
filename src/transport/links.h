// Links: the only way from one rank to another. Implemented over MPI (src/mpi/) and by threads
// (simulate/), so that the same algorithms run under both.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace crossrail {

class Links {
 public:
  virtual ~Links() = default;

  // Call before the first message, from an algorithm's plan(). Collective.
  virtual Status open_messages() = 0;

  // Messages of contiguous bytes; between two ranks they match in the order posted.
  // Buffers must live until wait_posted, which completes everything posted so far.
  virtual Status post_send(int rank, const void* data, std::size_t bytes) = 0;
  virtual Status post_recv(int rank, void* data, std::size_t bytes) = 0;
  virtual Status wait_posted() = 0;

  // Worst (largest) code over all ranks of the communicator. Collective.
  virtual Status agree(Code mine, Code& worst) = 0;

  // Whether the other ranks of the node can read_peer this memory of ours. Not so for memory that a
  // device driver has mapped (CUDA's pinned memory): it must be offered from a copy.
  virtual bool readable_by_peers(const void* address, std::size_t bytes) = 0;

  // Copies `bytes` at `address` of another rank of the node into `to`, with one copy.
  virtual Status read_peer(int rank, void* to, std::uint64_t address, std::size_t bytes) = 0;

  // Lets the host's own messages move: another rank may need them to reach its collective at all.
  virtual void progress() = 0;

  // False once the process of `rank`, on this node, is known to have ended.
  virtual bool alive(int rank) = 0;
};

}  // namespace crossrail
