// EarlyOpening opens a communicator on which only nonblocking calls have been made so far. Such calls may not wait for other ranks. Therefore they
// are native until all ranks have found each other in memory that their node shares, and have agreed there on the first call that no rank has begun
// (OpeningTable). If the ranks are on several nodes, the next blocking call opens the communicator instead.
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
  // The destructor abandons an opening that has not finished.
  ~EarlyOpening();
  EarlyOpening(const EarlyOpening&) = delete;
  EarlyOpening& operator=(const EarlyOpening&) = delete;

  // All ranks call this at the same collective call on the communicator. Rank 0 tells the others in a nonblocking broadcast where to meet. It tells
  // them nothing if it does not want the opening (`wanted`) or has told them before.
  void invite(bool wanted);
  // This rank begins its nonblocking call number `call` on the communicator. Returns true from the same call on at all ranks: then `communicator`
  // handles this call and all later ones. May take some time, but never waits for another rank.
  bool carries(std::uint64_t call);
  // All ranks are in the same blocking call and have begun `calls_begun` nonblocking ones. They finish the opening together or give it up together.
  // Returns true if `communicator` handles all calls from now on.
  bool conclude(std::uint64_t calls_begun);

  // Returns whether this object may be destroyed without waiting for ranks that still have to make calls which this rank has made.
  bool nothing_under_way();
  // The program is about to wait until nothing is under way on the communicator, or to free it. Waits for at most `most_ns`.
  void leave_nothing_under_way(std::int64_t most_ns = Invitation::kForEver);

  std::unique_ptr<Communicator> communicator;

 private:
  enum class Stage { waiting, opening, finished, given_up };  // In `waiting`, the rank waits for an invitation that says where to meet.

  void look_at_invitations();
  void go_on(std::uint64_t calls_begun);
  void join(const Invitation::Message& message);
  Invitation::Message place_to_meet();
  static void open(void* opening);

  MPI_Comm comm_;
  Stage stage_ = Stage::waiting;
  std::deque<std::shared_ptr<Invitation>> invitations_;  // These have not been looked at yet.
  SharedMemory memory_;
  std::unique_ptr<OpeningTable> table_;
  std::unique_ptr<Fiber> fiber_;
  bool cancelled_ = false;
  bool told_ = false;  // This rank has wanted the opening before; if it is rank 0, it has told the others.
  int rank_ = 0, ranks_ = 0;
  std::int64_t may_linger_ns_ = 0;  // While time is left, the other ranks are likely to arrive soon.
};

}  // namespace crossrail::mpi
