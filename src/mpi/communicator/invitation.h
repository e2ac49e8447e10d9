// An Invitation is a short message from rank 0 of a communicator to all other ranks. It is a nonblocking broadcast on that communicator, since the
// program's own calls on it go on meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>

#include "mpi/library/flavour.h"
#include "topology/topology.h"
#include "transport/shared_memory.h"

namespace crossrail::mpi {

class Invitation {
 public:
  // The message says where the OpeningTable lies. Its address has zero bytes if rank 0 could not make one.
  struct Message {
    std::uint64_t magic = kMagic;
    std::uint64_t later = 0;  // If it is not zero, the message says nothing.
    std::uint64_t machine = 0, pid_space = 0;  // The address is valid only on this machine and in this PID namespace (Location).
    SharedMemoryAddress address{};

    bool is_crossrails() const { return magic == kMagic; }
    bool is_strangers() const { return magic != kMagic && magic != kFailed; }
    bool is_from(const Location& here) const { return is_crossrails() && machine == here.machine && pid_space == here.pid_space; }
  };

  // All ranks call this at the same place among their collective calls on `comm`, and only rank 0's message counts. Returns null if MPI refuses.
  static std::shared_ptr<Invitation> send(MPI_Comm comm, const Message& message);
  const Message& message() const { return message_; }
  // This is also true of an invitation that has failed, whose message must not be used.
  bool arrived() const { return arrived_.load(std::memory_order_acquire); }
  // Waits at most this long, because some rank may never make the call that this rank has made.
  static constexpr std::int64_t kMostNs = 2'000'000'000, kForEver = std::numeric_limits<std::int64_t>::max();
  void end(std::int64_t most_ns = kMostNs);

  // Tests all invitations under way. A communicator that the program has freed may stay alive until its invitation has arrived.
  static void look_at_all();
  // MPI_Finalize is about to begin.
  static void end_all();

 private:
  static constexpr std::uint64_t kMagic = 0x6c69617273736f72, kFailed = 0;
  void test();

  MPI_Request request_{};
  Message message_;
  std::atomic<bool> arrived_{false};
};

}  // namespace crossrail::mpi
