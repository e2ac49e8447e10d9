// EarlyOpening: opens a communicator on which only nonblocking calls have been made so far. Those may not wait
// for other ranks; so they are native until all ranks have found each other in memory that their node shares, and
// have agreed there on the first call that no rank has begun (OpeningTable). Ranks on several nodes are opened by
// the next blocking call instead.
#pragma once

#include <cstdint>
#include <memory>

#include "base/fiber.h"
#include "comm/communicator.h"
#include "mpi/communicator/invitation.h"
#include "mpi/library/flavour.h"
#include "transport/opening_table.h"

namespace crossrail::mpi {

class EarlyOpening {
 public:
  // All ranks begin it at the same call on `comm`, an intracommunicator: its first rank tells the others where to meet, in a
  // nonblocking broadcast.
  explicit EarlyOpening(MPI_Comm comm);
  // Gives up what has not been finished.
  ~EarlyOpening();
  EarlyOpening(const EarlyOpening&) = delete;
  EarlyOpening& operator=(const EarlyOpening&) = delete;

  // This rank begins its nonblocking call of this number on the communicator. True, for the same call on all
  // ranks: `communicator` carries it, and all later ones. May take some time, but waits for nobody.
  bool carries(std::uint64_t call);
  // All ranks are in the same blocking call, and have begun `calls_begun` nonblocking ones: they finish together,
  // or give up together. True if `communicator` carries all from now on.
  bool conclude(std::uint64_t calls_begun);

  // The program is about to wait until nothing is under way on the communicator.
  void leave_nothing_under_way();

  std::unique_ptr<Communicator> communicator;

 private:
  enum class Stage { invited, opening, finished, given_up };

  void go_on(std::uint64_t calls_begun);
  void join();
  static void open(void* opening);

  MPI_Comm comm_;
  Stage stage_ = Stage::given_up;
  std::shared_ptr<Invitation> invitation_;
  SharedMemory memory_;
  std::unique_ptr<OpeningTable> table_;
  std::unique_ptr<Fiber> fiber_;
  bool cancelled_ = false;
  int rank_ = 0, ranks_ = 0;
  int calls_that_linger_ = 16;  // the other ranks are likely to come by soon
};

}  // namespace crossrail::mpi
