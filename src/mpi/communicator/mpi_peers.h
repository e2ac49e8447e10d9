// MpiPeers is the MPI side that all slots of a communicator share: who the other ranks are, and where messages travel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mpi/communicator/error_notices.h"
#include "mpi/library/flavour.h"
#include "topology/topology.h"

namespace crossrail::mpi {

struct MpiPeers {
  // `number` is the number that this rank's Location contains.
  MpiPeers(MPI_Comm user_comm, int own_rank, const std::vector<Location>& all, CommonNumber number);
  ~MpiPeers();
  MpiPeers(const MpiPeers&) = delete;

  // The first call is collective over the user's communicator, unless all ranks know the common one. Errors: unsupported on all ranks alike if MPI
  // has no communicator left; system if the other ranks may not know of the failure.
  Status open_messages();
  bool messages_open() const { return notices != nullptr; }
  // Returns false once the process of `other` on this machine is known to have ended.
  bool alive(int other) const;
  int size() const { return size_; }
  // Returns the process of a rank on this machine, or -1 if its process number means nothing here.
  int process_of(int other) const;

  MPI_Comm user;
  int rank;
  std::string segment_kind;  // It says how the node shares memory (SharedMemory::create).
  std::unique_ptr<ErrorNotices> notices;  // It is null until messages are needed.
  bool all_know_of_failure = false;  // It refers to a failure to open messages.

 private:
  struct Neighbour {
    int rank, process;
  };
  Status make_private_communicator();
  void open_on(MessageSpace space);

  int size_;
  MessageSpace common_;  // It has no box if it is not to be used.
  CommonNumber number_;
  std::vector<Neighbour> neighbours_;  // Only ranks on this machine are kept, including this one, in ascending order.
};

}  // namespace crossrail::mpi
