// MpiExchange: by blocking collectives on the user's communicator.
#pragma once

#include "mpi/library/pmpi.h"
#include "transport/exchange.h"

namespace crossrail::mpi {

class MpiExchange final : public Exchange {
 public:
  MpiExchange(MPI_Comm comm, int ranks) : Exchange(ranks), comm_(comm) {}

  // Before anything else is exchanged: waits until all ranks are here, and says so if that takes long; a rank may be late, or
  // run without crossrail. False on all ranks alike if not all run the same build of it.
  bool meet();

  bool broadcast(std::string& text) override {
    int length = static_cast<int>(text.size());
    if (pmpi().Bcast(&length, 1, handles().whole_number, 0, comm_) != MPI_SUCCESS) return false;
    text.resize(static_cast<std::size_t>(length));
    return length == 0 || pmpi().Bcast(text.data(), length, handles().byte, 0, comm_) == MPI_SUCCESS;
  }
  bool all(bool mine) override {
    int worst = mine ? 0 : 1, largest = 1;
    return pmpi().Allreduce(&worst, &largest, 1, handles().whole_number, handles().maximum, comm_) == MPI_SUCCESS &&
           largest == 0;
  }
  bool in_blocking_call() const override { return true; }

 protected:
  bool gather_bytes(const void* mine, void* all, std::size_t bytes) override {
    const int count = static_cast<int>(bytes);
    return pmpi().Allgather(mine, count, handles().byte, all, count, handles().byte, comm_) == MPI_SUCCESS;
  }

 private:
  MPI_Comm comm_;
};

}  // namespace crossrail::mpi
