// Where the messages of a communicator travel: on which private communicator, with which tags.
//
// The first private communicator that holds all processes of the program stays to the end, and is the *common* one: the messages of
// later communicators travel on it, too, told apart by their tags. Nobody has to agree on a tag: every process numbers communicators for
// itself and says with its Location which number it has given; what is sent to it bears that one. So a communicator opens without
// making one of the MPI library's, of which MPICH has few, and which threads of Open MPI cannot always make at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "mpi/communicator/notice_box.h"
#include "topology/topology.h"

namespace crossrail::mpi {

// Tags of one communicator: 256 slots, 31 calls, 4 kinds of message (mpi_links.cpp). MPI promises tags up to 32767.
inline constexpr int kTagsACommunicator = 256 * 31 * 4;
static_assert(kTagsACommunicator <= 32767);

// A communicator's number on the common communicator, for what is sent to this process. It bears a serial number, which is never used
// again; its tags are, once it has gone and all the others have been used.
class CommonNumber {
 public:
  CommonNumber() = default;
  explicit CommonNumber(std::uint64_t serial) : serial_(serial) {}
  CommonNumber(CommonNumber&& other) noexcept : serial_(other.serial_) { other.serial_ = 0; }
  CommonNumber& operator=(CommonNumber&&) = delete;
  ~CommonNumber();
  std::uint64_t serial() const { return serial_; }  // 0: none
  // Messages with its tags may still come: nobody is to have them any more.
  void retire() { serial_ = 0; }

 private:
  std::uint64_t serial_ = 0;
};

// The common communicator, as this process knows it. May be used by several threads.
class CommonCommunicator {
 public:
  static CommonCommunicator& of_process();
  // For the maker of a private communicator that holds all processes: false if there is a common one, or somebody else makes it,
  // or the MPI library has too few tags. Then one of the others.
  bool claim();
  void unclaim();
  // `name`: the same on all ranks. The box of it.
  std::shared_ptr<NoticeBox> settle(MPI_Comm made, std::uint64_t name, int rank);
  // MPI_Finalize is about to begin.
  void end();

  std::shared_ptr<NoticeBox> box() const;  // null if there is none
  // Says in this process's Location what others need to send to it. The number is empty if there is none.
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
  std::vector<bool> in_use_;  // by number, which is the serial number modulo how many there are; 0 is its maker's
};

// As one communicator has it.
struct MessageSpace {
  std::shared_ptr<NoticeBox> box;   // of the private communicator
  std::uint64_t own_key = 0;        // of notices to this rank
  std::size_t numbers = 0;          // of the common communicator; 0: it is another one
  std::vector<int> ranks;           // on the private communicator, by the program's ranks; empty: the same
  std::vector<std::uint64_t> keys;  // of notices to each; empty: own_key

  int rank_of(int rank) const { return ranks.empty() ? rank : ranks[static_cast<std::size_t>(rank)]; }
  std::uint64_t key_of(int rank) const { return keys.empty() ? own_key : keys[static_cast<std::size_t>(rank)]; }
  // Of what is sent to the rank that has this key.
  int first_tag(std::uint64_t key) const { return numbers == 0 ? 0 : static_cast<int>(key % numbers) * kTagsACommunicator; }
};

// On the common communicator; without a box where not all ranks know one, on all ranks alike.
MessageSpace common_space(const std::vector<Location>& locations, const CommonNumber& own);
// On one that has been made for it.
MessageSpace private_space(std::shared_ptr<NoticeBox> box, std::uint64_t name);

}  // namespace crossrail::mpi
