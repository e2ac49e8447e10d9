// Invitation: a short message from the first rank of a communicator to all others, by a nonblocking broadcast on it,
// since the program's own calls on it go on meanwhile.
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
  // Where the OpeningTable lies; zero bytes if the first rank could not make one.
  struct Message {
    std::uint64_t magic = kMagic;
    std::uint64_t later = 0;  // not zero: it says nothing
    std::uint64_t machine = 0, pid_space = 0;  // of Location: where the address means something
    SharedMemoryAddress address{};

    bool is_crossrails() const { return magic == kMagic; }
    bool is_strangers() const { return magic != kMagic && magic != kFailed; }
    bool is_from(const Location& here) const { return is_crossrails() && machine == here.machine && pid_space == here.pid_space; }
  };

  // All ranks at the same place among their collective calls on `comm`; only the first one's message counts. Null
  // if MPI refuses.
  static std::shared_ptr<Invitation> send(MPI_Comm comm, const Message& message);
  const Message& message() const { return message_; }
  // Also where it has failed, which makes the message nobody's.
  bool arrived() const { return arrived_.load(std::memory_order_acquire); }
  // Waits for it, so long at most: some rank may never make the call that this one has made.
  static constexpr std::int64_t kMostNs = 2'000'000'000, kForEver = std::numeric_limits<std::int64_t>::max();
  void end(std::int64_t most_ns = kMostNs);

  // Looks which of all those under way have arrived. A communicator that the program has freed may stay until then.
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
