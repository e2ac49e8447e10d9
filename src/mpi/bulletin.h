// Bulletin: what ranks that share no segment tell each other when a call takes too long. Nothing is
// sent while calls go well.
#pragma once

#include <cstdint>
#include <list>
#include <vector>

#include "base/status.h"
#include "mpi/flavour.h"

namespace crossrail::mpi {

class Bulletin {
 public:
  // `comm` is private to crossrail; notices have a tag of their own on it.
  Bulletin(MPI_Comm comm, int rank, int size) : comm_(comm), rank_(rank), size_(size) {}
  ~Bulletin();

  void enter(std::uint64_t shape_hash, std::uint64_t block_bytes);
  // Tells all ranks, once a call, which call this rank waits in, and reads what they have told.
  // Errors: mismatch; the code that another rank has announced.
  Status look();
  void announce(Code code);
  // Takes in what has arrived. True if any notice has ever come or gone: then others may still be on
  // their way, and `comm` must stay (MPICH ends a program that frees a communicator with messages).
  bool was_used();

 private:
  struct Notice {
    std::uint64_t call, shape, bytes, code;
  };
  // A notice on its way to all: its memory must stay until MPI has sent it.
  struct Posting {
    Notice notice;
    std::vector<MPI_Request> requests;
  };
  void post(Code code);
  // False if none has arrived.
  bool take(Notice& notice, int& from);
  Status read(const Notice& notice, int from) const;

  MPI_Comm comm_;
  int rank_, size_;
  Notice mine_{};
  std::uint64_t told_in_call_ = 0;
  bool used_ = false;
  std::list<Posting> postings_;
};

}  // namespace crossrail::mpi
