// A message space says where the messages of a communicator travel: on which private communicator and with which tags.
//
// The first private communicator that holds all processes of the program stays to the end and is the *common* one. The messages of later
// communicators travel on it, too, and differ by their tags. The ranks need not agree on tags: every process numbers its communicators by itself and
// publishes the number with its Location; messages to that process carry it. Thus a communicator opens without a new MPI communicator. MPICH has few
// of those, and threads of Open MPI cannot always make them at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "mpi/communicator/notice_box.h"
#include "topology/topology.h"

namespace crossrail::mpi {

// A communicator has tags for 256 slots, 31 calls and 4 kinds of message (mpi_links.cpp). MPI guarantees tags up to 32767.
inline constexpr int kTagsACommunicator = 256 * 31 * 4;
static_assert(kTagsACommunicator <= 32767);

// A CommonNumber is a communicator's number on the common communicator, for messages to this process. It has a serial number, which is never used
// again. Its tags are reused after the communicator has been freed, once all other numbers have been used.
class CommonNumber {
 public:
  CommonNumber() = default;
  explicit CommonNumber(std::uint64_t serial) : serial_(serial) {}
  CommonNumber(CommonNumber&& other) noexcept : serial_(other.serial_) { other.serial_ = 0; }
  CommonNumber& operator=(CommonNumber&&) = delete;
  ~CommonNumber();
  std::uint64_t serial() const { return serial_; }  // Zero means none.
  // Messages with these tags may still arrive, so no later communicator may get the tags.
  void retire() { serial_ = 0; }

 private:
  std::uint64_t serial_ = 0;
};

// CommonCommunicator is the common communicator as this process knows it. Several threads may use it.
class CommonCommunicator {
 public:
  static CommonCommunicator& of_process();
  // The maker of a private communicator that holds all processes calls this. Returns false if there is a common one, another thread is making it, or
  // MPI has too few tags. One of the two calls below must follow a success.
  bool claim();
  void unclaim();
  // `name` is the same on all ranks. Returns the box of the communicator.
  std::shared_ptr<NoticeBox> settle(MPI_Comm made, std::uint64_t name, int rank);
  // MPI_Finalize is about to begin.
  void end();

  std::shared_ptr<NoticeBox> box() const;  // It is null if there is no common communicator.
  // Writes into this process's Location what other ranks need to send to it. The number is empty if there is no common communicator.
  CommonNumber number(Location& mine);
  std::size_t numbers() const;

 private:
  friend class CommonNumber;
  enum class State { none, claimed, settled, ended };
  void free(std::uint64_t serial);

  mutable std::mutex mutex_;
  State state_ = State::none;
  std::uint64_t name_ = 0, last_serial_ = 0;
  int rank_ = 0;
  std::shared_ptr<NoticeBox> box_;
  std::vector<bool> in_use_;  // The index is the serial number modulo the size. Index 0 belongs to the communicator that made the common one.
};

// MessageSpace is what one communicator uses.
struct MessageSpace {
  std::shared_ptr<NoticeBox> box;   // It is the box of the private communicator.
  std::uint64_t own_key = 0;        // Notices to this rank carry it.
  std::size_t numbers = 0;          // The common communicator has so many; 0 means that it is not the common one.
  std::vector<int> ranks;           // The index is the program's rank, the value the one on the private communicator; if empty, both are the same.
  std::vector<std::uint64_t> keys;  // Notices to each rank carry these; if empty, own_key holds for all.

  int rank_of(int rank) const { return ranks.empty() ? rank : ranks[static_cast<std::size_t>(rank)]; }
  std::uint64_t key_of(int rank) const { return keys.empty() ? own_key : keys[static_cast<std::size_t>(rank)]; }
  // Returns the first tag of messages to the rank that has this key.
  int first_tag(std::uint64_t key) const { return numbers == 0 ? 0 : static_cast<int>(key % numbers) * kTagsACommunicator; }
};

// Returns a space on the common communicator. It has no box, on all ranks alike, if some rank knows no common communicator.
MessageSpace common_space(const std::vector<Location>& locations, const CommonNumber& own);
// Returns a space on a private communicator that was made for it.
MessageSpace private_space(std::shared_ptr<NoticeBox> box, std::uint64_t name);

}  // namespace crossrail::mpi
