// EarlyOpening: opens a communicator on which only nonblocking calls have been made so far. Those may not wait
// for other ranks; so they are native until all ranks have found each other in memory that their node shares, and
// have agreed there on the first call that no rank has begun (OpeningTable). Ranks on several nodes are opened by
// the next blocking call instead.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "base/fiber.h"
#include "comm/communicator.h"
#include "mpi/communicator/invitation.h"
#include "mpi/library/flavour.h"
#include "transport/opening_table.h"

namespace crossrail::mpi {

class EarlyOpening {
 public:
  explicit EarlyOpening(MPI_Comm comm);
  // Gives up what has not been finished.
  ~EarlyOpening();
  EarlyOpening(const EarlyOpening&) = delete;
  EarlyOpening& operator=(const EarlyOpening&) = delete;

  // All ranks at the same call on the communicator: in a nonblocking broadcast its first rank tells the others where to meet, or, not `wanted` by
  // it, or told before, nothing.
  void invite(bool wanted);
  // This rank begins its nonblocking call of this number on the communicator. True, for the same call on all
  // ranks: `communicator` carries it, and all later ones. May take some time, but waits for nobody.
  bool carries(std::uint64_t call);
  // All ranks are in the same blocking call, and have begun `calls_begun` nonblocking ones: they finish together,
  // or give up together. True if `communicator` carries all from now on.
  bool conclude(std::uint64_t calls_begun);

  // Whether this may go without waiting for other ranks, which have calls to make that this one has made.
  bool nothing_under_way();
  // The program is about to wait until nothing is under way on the communicator, or to free it. May take so long.
  void leave_nothing_under_way(std::int64_t most_ns = Invitation::kForEver);

  std::unique_ptr<Communicator> communicator;

 private:
  enum class Stage { waiting, opening, finished, given_up };  // waiting: for an invitation that says where to meet

  void look_at_invitations();
  void go_on(std::uint64_t calls_begun);
  void join(const Invitation::Message& message);
  Invitation::Message place_to_meet();
  static void open(void* opening);

  MPI_Comm comm_;
  Stage stage_ = Stage::waiting;
  std::deque<std::shared_ptr<Invitation>> invitations_;  // not looked at yet
  SharedMemory memory_;
  std::unique_ptr<OpeningTable> table_;
  std::unique_ptr<Fiber> fiber_;
  bool cancelled_ = false;
  bool told_ = false;  // whether this rank has wanted it before: the others have been told, if it is the first
  int rank_ = 0, ranks_ = 0;
  std::int64_t may_linger_ns_ = 0;  // while the other ranks are likely to come by
};

}  // namespace crossrail::mpi
