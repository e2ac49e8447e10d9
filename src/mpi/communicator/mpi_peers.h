// MpiPeers: what all slots of a communicator share of its MPI side: who the other ranks are, and where messages travel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mpi/communicator/error_notices.h"
#include "mpi/library/flavour.h"
#include "topology/topology.h"

namespace crossrail::mpi {

struct MpiPeers {
  // `number`: what this rank's Location says of it.
  MpiPeers(MPI_Comm user_comm, int own_rank, const std::vector<Location>& all, CommonNumber number);
  ~MpiPeers();
  MpiPeers(const MpiPeers&) = delete;

  // At its first time collective over the user's communicator, unless all ranks know the common one.
  // Errors: unsupported, on all ranks alike (no more communicators); system, where the others may not know.
  Status open_messages();
  bool messages_open() const { return notices != nullptr; }
  // False once the process of `other`, on this machine, is known to have ended.
  bool alive(int other) const;
  int size() const { return size_; }
  // The process of a rank on this machine; -1 where its number means nothing here.
  int process_of(int other) const;

  MPI_Comm user;
  int rank;
  std::string segment_kind;  // how the node shares memory (SharedMemory::create)
  std::unique_ptr<ErrorNotices> notices;  // null until messages are needed
  bool all_know_of_failure = false;  // that messages could not be opened

 private:
  struct Neighbour {
    int rank, process;
  };
  Status make_private_communicator();
  void open_on(MessageSpace space);

  int size_;
  MessageSpace common_;  // without a box where it is not to be used
  CommonNumber number_;
  std::vector<Neighbour> neighbours_;  // on this machine, with this rank, ascending: the others are not kept
};

}  // namespace crossrail::mpi
