// What MPI_Start and MPI_Request_free are ours for.
#pragma once

namespace crossrail::mpi {

class Startable {
 public:
  // MPI's code.
  virtual int start() = 0;
  // The program frees its request: this goes as well, when what is under way has ended.
  virtual void free() = 0;

 protected:
  ~Startable() = default;
};

}  // namespace crossrail::mpi
