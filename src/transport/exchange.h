// Exchange: what ranks tell each other while they set something up together. Every operation is called by all
// ranks in the same order, and returns when it has heard of all; false if that cannot be.
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

  // One record of every rank, in their order.
  template <class Record>
  bool gather(const Record& mine, std::vector<Record>& all) {
    static_assert(std::is_trivially_copyable_v<Record>);
    all.resize(static_cast<std::size_t>(ranks_));
    return gather_bytes(&mine, all.data(), sizeof mine);
  }
  // The record of the first rank of this one's node.
  virtual bool from_node_leader(const Topology& topology, void* record, std::size_t bytes);
  // Rank 0's text to all.
  virtual bool broadcast(std::string& text) = 0;
  // True if `mine` is true on every rank.
  virtual bool all(bool mine) = 0;
  // Whether some rank has given up, as all know.
  virtual bool is_over() const { return false; }
  // All ranks know by other ways that it is over.
  virtual void abandon() {}
  // Whether all ranks are in the same blocking call, in which they may call collectives of the MPI library.
  virtual bool in_blocking_call() const = 0;

 protected:
  // `bytes` of every rank, one after the other, to `all`.
  virtual bool gather_bytes(const void* mine, void* all, std::size_t bytes) = 0;
  int ranks() const { return ranks_; }

 private:
  int ranks_;
};

// The first rank of every node creates memory of a kind (SharedMemory::create), the others attach. False on all
// ranks alike if it failed anywhere.
struct WantedSegment {
  const Topology& topology;
  const std::string& kind;
  std::size_t bytes;
};
bool share_segment(SharedMemory& memory, const WantedSegment& wanted, Exchange& exchange);

}  // namespace crossrail
