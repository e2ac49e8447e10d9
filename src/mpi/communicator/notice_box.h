// A NoticeBox collects the error notices that arrive on one private communicator, which may carry the messages of several of the program's
// communicators. A rank that looks receives notices for all of them, since their senders wait until they have been received.
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
  std::uint64_t to;  // It is the key of the communicator at the receiving rank.
  std::uint64_t slot, call, shape, bytes, code;  // With code 0 the sender waits; otherwise the notice has a statement.
  std::int64_t from;  // It is a rank of the program's communicator.
  Statement statement;
};

class NoticeBox {
 public:
  explicit NoticeBox(MPI_Comm comm) : comm_(comm) {}
  NoticeBox(const NoticeBox&) = delete;

  MPI_Comm comm() const { return comm_; }
  // Keeps notices for this key from now on, until `forget`.
  void expect(std::uint64_t key);
  void forget(std::uint64_t key);
  // Sets a function that is called for errors under a forgotten key. It must be set before the first fetch.
  void on_late_error(std::function<void(std::uint64_t)> heard) { late_error_ = std::move(heard); }
  // Receives what has arrived, unless another thread or an outer call is doing it. Must not be called from inside MPI.
  void fetch();
  // Is called before the communicator is freed. Nothing is fetched any more after it has returned.
  void end();
  // Takes the next notice that has been received for this key. Returns false if there is none.
  bool take(std::uint64_t key, Notice& notice);
  void send(const Notice& notice, int rank, MPI_Request& request) const;

 private:
  bool arrived();
  void keep(const Notice& notice);

  MPI_Comm comm_;
  std::function<void(std::uint64_t)> late_error_;
  std::atomic_flag fetching_;
  std::mutex mutex_;  // It is never held during MPI calls.
  std::map<std::uint64_t, std::deque<Notice>> kept_;
};

}  // namespace crossrail::mpi
