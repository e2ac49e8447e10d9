// The exchanges that setting up needs, on the user's communicator: blocking collectives.
#pragma once

#include <string>
#include <vector>

#include "mpi/library/pmpi.h"
#include "topology/topology.h"
#include "transport/shared_memory.h"

namespace crossrail::mpi {

class Exchange {
 public:
  Exchange(MPI_Comm comm, int size) : comm_(comm), size_(size) {}

  template <class Record>
  bool gather(const Record& mine, std::vector<Record>& all) {
    all.resize(size_);
    return pmpi().Allgather(&mine, sizeof mine, handles().byte, all.data(), sizeof mine, handles().byte, comm_) ==
           MPI_SUCCESS;
  }
  // Rank 0's text to all.
  bool broadcast(std::string& text) {
    int length = static_cast<int>(text.size());
    if (pmpi().Bcast(&length, 1, handles().whole_number, 0, comm_) != MPI_SUCCESS) return false;
    text.resize(length);
    return length == 0 || pmpi().Bcast(text.data(), length, handles().byte, 0, comm_) == MPI_SUCCESS;
  }
  // True if `mine` is true on every rank.
  bool all(bool mine) {
    int worst = mine ? 0 : 1, largest = 1;
    return pmpi().Allreduce(&worst, &largest, 1, handles().whole_number, handles().maximum, comm_) == MPI_SUCCESS &&
           largest == 0;
  }

 private:
  MPI_Comm comm_;
  int size_;
};

// The first rank of every node creates memory of a kind (SharedMemory::create), the others attach. False on all
// ranks alike if it failed anywhere.
struct WantedSegment {
  const Topology& topology;
  const std::string& kind;
  std::size_t bytes;
};
bool share_segment(SharedMemory& memory, const WantedSegment& wanted, Exchange& exchange);

}  // namespace crossrail::mpi
