// MpiPeers: what all slots of a communicator share of its MPI side: who the other ranks are, and the private
// communicator on which messages travel.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mpi/communicator/error_notices.h"
#include "mpi/library/flavour.h"
#include "topology/topology.h"

namespace crossrail::mpi {

struct MpiPeers {
  MpiPeers(MPI_Comm user_comm, int own_rank, const std::vector<Location>& all);
  ~MpiPeers();
  MpiPeers(const MpiPeers&) = delete;

  // Collective over the user's communicator, at its first time; returns when all ranks are there.
  // Errors: unsupported, on all ranks alike (no more communicators), system.
  Status open_messages();
  bool messages_open() const { return notices != nullptr; }
  // False once the process of `other`, on this machine, is known to have ended.
  bool alive(int other) const;
  int size() const { return size_; }
  // The process of a rank on this machine; -1 where its number means nothing here.
  int process_of(int other) const;

  MPI_Comm user;
  MPI_Comm messages;  // no tag of the user's can match on it; null until messages are needed
  int rank;
  std::string segment_kind;  // how the node shares memory (SharedMemory::create)
  std::unique_ptr<ErrorNotices> notices;
  bool all_know_of_failure = false;  // that messages could not be opened

 private:
  struct Neighbour {
    int rank, process;
  };
  int size_;
  std::vector<Neighbour> neighbours_;  // on this machine, with this rank, ascending: the others are not kept
};

}  // namespace crossrail::mpi
