// NoticeBox: what arrives of error notices on one private communicator, on which the messages of several of the program's may travel.
// Whoever looks receives for all of them: a notice's sender waits until it has been received.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

#include "mpi/library/flavour.h"
#include "transport/verdict.h"

namespace crossrail::mpi {

struct Notice {
  std::uint64_t to;  // key of the communicator at the rank that it is sent to
  std::uint64_t slot, call, shape, bytes, code;  // code 0: its sender waits; otherwise there is a statement
  std::int64_t from;  // rank in the program's communicator
  Statement statement;
};

class NoticeBox {
 public:
  explicit NoticeBox(MPI_Comm comm) : comm_(comm) {}
  NoticeBox(const NoticeBox&) = delete;

  MPI_Comm comm() const { return comm_; }
  // From now on notices for this key are kept, until `forget`.
  void expect(std::uint64_t key);
  void forget(std::uint64_t key);
  // Hears of errors that are told under a key which has been forgotten. Before anything is fetched.
  void on_late_error(std::function<void(std::uint64_t)> heard) { late_error_ = std::move(heard); }
  // Receives what has arrived, unless another thread, or a call further up, is at it. Not from inside the MPI library.
  void fetch();
  // Before its communicator is freed: nothing is fetched any more, when this returns.
  void end();
  // The next one that has been received for this key; false if there is none.
  bool take(std::uint64_t key, Notice& notice);
  void send(const Notice& notice, int rank, MPI_Request& request) const;

 private:
  bool arrived();
  void keep(const Notice& notice);

  MPI_Comm comm_;
  std::function<void(std::uint64_t)> late_error_;
  std::atomic_flag fetching_;
  std::mutex mutex_;  // never held while MPI is called
  std::map<std::uint64_t, std::deque<Notice>> kept_;
};

}  // namespace crossrail::mpi
