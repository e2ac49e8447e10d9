// ErrorNotices: what ranks that share no segment tell each other when a call takes too long. Nothing is
// sent while calls go well.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <vector>

#include "base/status.h"
#include "mpi/library/flavour.h"

namespace crossrail::mpi {

class ErrorNotices {
 public:
  // `comm` is private to crossrail; notices have a tag of their own on it.
  ErrorNotices(MPI_Comm comm, int rank, int size) : comm_(comm), rank_(rank), size_(size) {}
  ~ErrorNotices();

  void begin_call(std::size_t slot, std::uint64_t call, std::uint64_t shape_hash, std::uint64_t block_bytes);
  // Tells all ranks, once a call, which call this rank waits in, and reads what they have told.
  // Errors: mismatch; the code that another rank has met in this call or a later one of the slot, given_back
  // if it was in the call before.
  Status look(std::size_t slot);
  void report_error(std::size_t slot, Code code);
  // Takes in what has arrived. True if any notice has ever come or gone: then others may still be on
  // their way, and `comm` must stay (MPICH ends a program that frees a communicator with messages).
  bool was_used();

 private:
  struct Notice {
    std::uint64_t slot, call, shape, bytes, code;
  };
  // A notice on its way to all: its memory must stay until MPI has sent it.
  struct Posting {
    Notice notice;
    std::vector<MPI_Request> requests;
  };
  // What is known of one slot.
  struct Record {
    Notice mine{};
    std::uint64_t told_in_call = 0;
    Notice error{};  // of another rank, if its code is not 0 ...
    int error_from = 0;
  };
  Record& record(std::size_t slot) {
    if (records_.size() <= slot) records_.resize(slot + 1);
    return records_[slot];
  }
  void drop_sent();
  void post(const Notice& notice);
  // False if none has arrived.
  bool take(Notice& notice, int& from);
  Status read(const Notice& notice, int from);
  Status judge(const Record& record) const;

  MPI_Comm comm_;
  int rank_, size_;
  std::recursive_mutex mutex_;  // MPI calls made here may advance other calls of the communicator, which come here
  int inside_ = 0;
  std::deque<Record> records_;  // by slot; they stay where they are
  bool used_ = false;
  std::list<Posting> postings_;
};

}  // namespace crossrail::mpi
