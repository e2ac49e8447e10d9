// ErrorNotices lets ranks that share no segment inform each other when a call takes too long. Nothing is sent while calls go well. A rank that waits
// too long for another one asks it, and that rank answers if it has gone on. Only an error is reported to all ranks.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <span>
#include <vector>

#include "base/status.h"
#include "mpi/communicator/message_space.h"
#include "transport/control_block.h"
#include "transport/verdict.h"

namespace crossrail::mpi {

class ErrorNotices {
 public:
  struct Call {
    std::uint64_t number, shape, bytes, in_place;
  };
  using Met = ControlBlock::Met;

  struct Place {
    MessageSpace space;
    CommonNumber number;  // It is this communicator's number on the common communicator.
    int rank, size;
  };
  explicit ErrorNotices(Place place)
      : space_(std::move(place.space)), number_(std::move(place.number)), rank_(place.rank), size_(place.size), verdict_(place.size) {}
  ~ErrorNotices();
  const MessageSpace& space() const { return space_; }

  void begin_call(std::size_t slot, const Call& call);
  // A call has received all its data. Returns false if it is a blocking call and this rank has said before that it was not complete.
  bool end_call(std::size_t slot);
  // Tells the ranks in `awaited`, once a call, which call this rank waits in, and reads what other ranks have sent. Errors: mismatch; the code of an
  // error that another rank has met.
  Status look(std::size_t slot, std::span<const int> awaited);
  // Returns whether `peer` has gone on to a later call of the slot and its messages of this call must have arrived by now.
  bool is_ahead(std::size_t slot, int peer);
  // This rank has met an error or heard of one. Tells all ranks once, together with the last call that this rank has completed.
  void report_error(std::size_t slot, Code code, Met met);
  // Decides the outcome of this rank's present blocking call, which is the same on all ranks: given_back or an error. Waits until all ranks have said
  // how far they have come, which they do in this call at the latest. A rank that is inside MPI and waits for us would never say it. Therefore all
  // calls end with the error after `most_ns`.
  Status judge(std::int64_t most_ns);
  // Receives and discards what has arrived. Returns true once everything that this rank has sent has been received.
  bool drain();
  // A call on the communicator has ended before all its messages were received.
  void leave_messages() { messages_left_.store(true, std::memory_order_relaxed); }
  // Returns whether that has happened on any rank, as far as this rank knows.
  bool messages_left() const { return messages_left_.load(std::memory_order_relaxed); }

 private:
  // A Posting holds notices that are being sent: their memory must stay until they have been received.
  struct Posting {
    std::vector<Notice> notices;
    std::vector<MPI_Request> requests;
  };
  // Told is the last notice of a rank about a slot, and the number of our look in which it arrived.
  struct Told {
    Notice notice{};
    std::uint64_t look = 0;
  };
  struct Record {
    Notice mine{};
    std::uint64_t looks = 0;
    std::vector<Told> others;                 // The index is the rank.
    std::vector<std::uint64_t> told_in_call;  // The index is the rank, and the value is the last call of which this rank has told it.
  };
  Record& record(std::size_t slot);
  void drop_sent();
  void post(const Notice& notice, std::span<const int> peers);
  void tell(Record& own, std::span<const int> peers);
  void read_all();
  void state(std::size_t slot, Code code, Met met);
  Status find_mismatch(const Record& record) const;

  MessageSpace space_;
  CommonNumber number_;
  int rank_, size_;
  std::recursive_mutex mutex_;  // MPI calls made under this lock may advance other calls of the communicator, which lock it again.
  int inside_ = 0;
  std::deque<Record> records_;  // The index is the slot; a deque does not move its elements.
  std::uint64_t begun_ = 0;  // Only blocking calls count.
  std::list<Posting> postings_;

  Statement own_;  // It is the current state until it has been sent; then it stays as it was sent.
  bool said_ = false;
  Verdict verdict_;
  std::atomic<bool> messages_left_{false};
  std::uint64_t error_ = 0;  // This is the first error that another rank has reported.
  int error_from_ = 0;
};

}  // namespace crossrail::mpi
