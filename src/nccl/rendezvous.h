// A Rendezvous is where the ranks of a node that are about to make an NCCL communicator find each other, without MPI and without NCCL's help.
//
// Every rank comes before it calls NCCL, and NCCL makes a communicator only when all its ranks have called. So a rank that has the communicator
// knows: if as many ranks have come here as it has, all of them are on this node and have crossrail. Otherwise some are not, and NCCL keeps the
// communicator for itself. All ranks see the same number.
//
// Its memory has a name of /dev/shm that follows from what all ranks pass to NCCL: the unique id or, for a communicator that is made from another
// one, the key of that one. The first rank whose communicator has been made removes the name.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "transport/opening_table.h"

namespace crossrail::nccl {

// Two words, so that no two communicators of a node have the same by chance.
struct Key {
  std::uint64_t words[2] = {0, 0};
  // Returns the key of a communicator that is made from this one.
  Key child(std::uint64_t number, std::uint64_t colour) const;
  bool operator<(const Key& other) const { return words[0] != other.words[0] ? words[0] < other.words[0] : words[1] < other.words[1]; }
};
Key key_of(const void* bytes, std::size_t count);

class Rendezvous {
 public:
  // Comes to the rendezvous of a communicator that has at most so many ranks. It returns null if there is no memory for it: then this rank does not
  // come, and the others see that.
  static std::unique_ptr<Rendezvous> come(const Key& key, int most_ranks);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  int come_so_far() const { return static_cast<int>(head().come.load()); }
  // Returns whether the process of some rank that has come is known to have ended.
  bool some_ended() const;
  // Returns the table of the ranks that have come, once all have.
  OpeningTable table(int rank, int ranks) { return {memory_ + head_bytes(most_), rank, ranks}; }

 private:
  struct Process {
    std::atomic<std::uint64_t> pid_space;
    std::atomic<std::int64_t> pid;  // It is 0 until it is known.
  };
  struct Head {
    std::atomic<std::uint32_t> come;
    Process processes[1];  // There is one for each rank.
  };
  static std::size_t head_bytes(int ranks) { return round_up(sizeof(Head) + static_cast<std::size_t>(ranks) * sizeof(Process), kCacheLineBytes); }
  static std::size_t bytes(int ranks) { return head_bytes(ranks) + OpeningTable::bytes(ranks); }
  Rendezvous(std::byte* memory, int most, std::string name) : memory_(memory), most_(most), name_(std::move(name)) {}
  Head& head() const { return *reinterpret_cast<Head*>(memory_); }

  std::byte* memory_;
  int most_;
  std::string name_;
};

}  // namespace crossrail::nccl
