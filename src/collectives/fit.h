// A Fit says whether an algorithm can handle a call, and what would have to be different if it cannot.
#pragma once

#include <algorithm>
#include <cstdint>

#include "topology/topology.h"

namespace crossrail {

// This says how an algorithm's plan() may end, and so whether the ranks have to agree on it.
enum class Planning : std::uint8_t {
  together,     // It may ask other ranks, and fail on some of them only: all agree before it and after it.
  when_larger,  // The same, but a plan needs nothing that one for a larger block has not got: the ranks agree where a block is the largest so far.
  alone         // It asks nobody, and ends alike on all ranks.
};

class Fit {
 public:
  // Adds a condition on the communicator, or on the call apart from its size. `what` continues the sentence "it needs ...". If several conditions are
  // not met, the first one is the reason.
  constexpr Fit& needs(bool met, const char* what) {
    if (!met && missing_ == nullptr) missing_ = what;
    return *this;
  }
  // Larger blocks do not fit.
  constexpr Fit& at_most(std::uint64_t bytes) {
    most_bytes_ = std::min(most_bytes_, bytes);
    return *this;
  }

  constexpr Fit& planned(Planning how) {
    planning_ = how;
    return *this;
  }

  // Returns what the algorithm lacks at every size, or null if it lacks nothing.
  constexpr const char* missing() const { return missing_; }
  constexpr std::uint64_t most_bytes() const { return most_bytes_; }
  constexpr Planning planning() const { return planning_; }
  constexpr bool takes(std::uint64_t bytes) const { return missing_ == nullptr && bytes <= most_bytes_; }

 private:
  const char* missing_ = nullptr;
  std::uint64_t most_bytes_ = ~std::uint64_t{0};
  Planning planning_ = Planning::together;
};

inline constexpr const char* kSeveralRanks = "two or more ranks";
inline constexpr const char* kSharedMemory = "memory that the ranks of a node share";
inline constexpr const char* kMoreScratch = "a larger CROSSRAIL_SCRATCH";

// This is for algorithms that move everything through the shared memory of one node.
inline Fit fit_one_node(const Topology& topology) {
  return Fit()
      .needs(topology.one_node(), "all ranks on one node")
      .needs(topology.shared_segment || topology.size > 1, kSeveralRanks)
      .needs(topology.shared_segment, kSharedMemory);
}

// This is for algorithms whose ranks also read each other's memory.
inline Fit fit_single_copy(const Topology& topology) { return fit_one_node(topology).needs(topology.single_copy, "process_vm_readv"); }

}  // namespace crossrail
