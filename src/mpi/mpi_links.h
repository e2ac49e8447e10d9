// Links over MPI: messages on a private communicator, progress by probing the user's.
#pragma once

#include <vector>

#include "mpi/flavour.h"
#include "topology/topology.h"
#include "transport/links.h"

namespace crossrail::mpi {

class MpiLinks final : public Links {
 public:
  MpiLinks(MPI_Comm user, int rank, std::vector<Location> locations);
  ~MpiLinks() override;

  Status open_messages() override;
  Status post_send(int rank, const void* data, std::size_t bytes) override;
  Status post_recv(int rank, void* data, std::size_t bytes) override;
  Status wait_posted() override;
  Status agree(Code mine, Code& worst) override;
  bool readable_by_peers(const void* address, std::size_t bytes) override;
  Status read_peer(int rank, void* to, std::uint64_t address, std::size_t bytes) override;
  void progress() override;
  bool alive(int rank) override;

 private:
  MPI_Comm user_;
  MPI_Comm private_;  // no tag of the user's can match on it
  int rank_;
  std::vector<Location> locations_;
  std::vector<MPI_Request> requests_;
};

}  // namespace crossrail::mpi
