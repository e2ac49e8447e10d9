// An Exchange is what ranks tell each other while they set something up together. All ranks call every operation in the same order. It returns when
// it has heard from all of them, and returns false if that is impossible.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include "topology/topology.h"
#include "transport/shared_memory.h"

namespace crossrail {

class Exchange {
 public:
  explicit Exchange(int ranks) : ranks_(ranks) {}
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Gathers one record of every rank, in rank order.
  template <class Record>
  bool gather(const Record& mine, std::vector<Record>& all) {
    static_assert(std::is_trivially_copyable_v<Record>);
    all.resize(static_cast<std::size_t>(ranks_));
    return gather_bytes(&mine, all.data(), sizeof mine);
  }
  // Gets the record of the first rank of this rank's node.
  virtual bool from_node_leader(const Topology& topology, void* record, std::size_t bytes);
  // Sends rank 0's text to all.
  virtual bool broadcast(std::string& text) = 0;
  // Returns true if `mine` is true on every rank.
  virtual bool all(bool mine) = 0;
  // Returns whether some rank has given up and all ranks know it.
  virtual bool is_over() const { return false; }
  // All ranks have learned in another way that the exchange is over.
  virtual void abandon() {}
  // Returns whether all ranks are in the same blocking call, in which they may call MPI's collectives.
  virtual bool in_blocking_call() const = 0;

 protected:
  // Gathers `bytes` bytes of every rank, one after the other, in `all`.
  virtual bool gather_bytes(const void* mine, void* all, std::size_t bytes) = 0;
  int ranks() const { return ranks_; }

 private:
  int ranks_;
};

// The first rank of every node creates memory of a kind (SharedMemory::create),
// and the others attach. Returns false on all ranks alike if it failed anywhere.
struct WantedSegment {
  const Topology& topology;
  const std::string& kind;
  std::size_t bytes;
};
bool share_segment(SharedMemory& memory, const WantedSegment& wanted, Exchange& exchange);

}  // namespace crossrail
