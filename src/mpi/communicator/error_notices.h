// ErrorNotices: what ranks that share no segment tell each other when a call takes too long. Nothing is
// sent while calls go well. A rank that waits too long for another asks that one, which answers if it has gone on; only an
// error is told to all.
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
    CommonNumber number;  // on the common communicator
    int rank, size;
  };
  explicit ErrorNotices(Place place)
      : space_(std::move(place.space)), number_(std::move(place.number)), rank_(place.rank), size_(place.size), verdict_(place.size) {}
  ~ErrorNotices();
  const MessageSpace& space() const { return space_; }

  void begin_call(std::size_t slot, const Call& call);
  // The call, if it is a blocking one, has all that it was to receive. False if this rank has said before that it had not.
  bool end_call(std::size_t slot);
  // Tells those whom this rank waits for, once a call, in which one, and reads what others have told. Errors: mismatch; the
  // code that another rank has met.
  Status look(std::size_t slot, std::span<const int> awaited);
  // Whether `peer` has gone on to a later call of the slot, and its messages of this one must have come by now.
  bool is_ahead(std::size_t slot, int peer);
  // This rank has met an error, or heard of one: says so to all, and how far it has come. Once.
  void report_error(std::size_t slot, Code code, Met met);
  // What becomes of this rank's present blocking call: given_back, or an error; the same on all ranks. Waits until
  // all have said how far they have come, which they do in this call at the latest. Where one is in the MPI
  // library instead, which waits for us, nobody would ever know: after `most_ns` all calls end with the error.
  Status judge(std::int64_t most_ns);
  // Takes in what has arrived, for good. True once all that this rank has sent has been received.
  bool drain();
  // A call on the communicator has ended before its messages were received.
  void leave_messages() { messages_left_.store(true, std::memory_order_relaxed); }
  // Whether that has happened on some rank, as far as this one has heard.
  bool messages_left() const { return messages_left_.load(std::memory_order_relaxed); }

 private:
  // Notices on their way: their memory must stay until they have been received.
  struct Posting {
    std::vector<Notice> notices;
    std::vector<MPI_Request> requests;
  };
  // The last that a rank has told of a slot, and during which look of ours that came.
  struct Told {
    Notice notice{};
    std::uint64_t look = 0;
  };
  struct Record {
    Notice mine{};
    std::uint64_t looks = 0;
    std::vector<Told> others;                 // by rank
    std::vector<std::uint64_t> told_in_call;  // the last call of which this rank has told another, by rank
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
  std::recursive_mutex mutex_;  // MPI calls made here may advance other calls of the communicator, which come here
  int inside_ = 0;
  std::deque<Record> records_;  // by slot; they stay where they are
  std::uint64_t begun_ = 0;  // blocking calls
  std::list<Posting> postings_;

  Statement own_;  // as it is; once it is said, as it was then
  bool said_ = false;
  Verdict verdict_;
  std::atomic<bool> messages_left_{false};
  std::uint64_t error_ = 0;  // the first that another rank has told of
  int error_from_ = 0;
};

}  // namespace crossrail::mpi
