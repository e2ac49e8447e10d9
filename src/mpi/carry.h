// An MPI call becomes a Shape and Buffers, is carried or handed back. No mpi.h here: arguments
// come as the machine words of the call, which is all that a library of the wrong flavour may
// look at.
#pragma once

#include <cstdint>

namespace crossrail::mpi {

using Word64 = std::intptr_t;

struct Carried {
  bool done = false;  // false: hand the untouched arguments to the MPI library
  int code = 0;       // MPI's, where done
  const char* algorithm = "native";
  std::uint64_t block_bytes = 0;
};

// MPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm); counts are int,
// or MPI_Count where `large_counts`.
Carried carry_alltoall(const Word64 arguments[7], bool large_counts);

// What carried this thread's last call.
const char* last_algorithm();

}  // namespace crossrail::mpi
