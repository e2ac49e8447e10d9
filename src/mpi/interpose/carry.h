// An MPI call becomes a Shape and Buffers, is carried or handed back. No mpi.h here: arguments
// come as the machine words of the call, which is all that a library of the wrong flavour may
// look at.
#pragma once

#include <cstdint>

#include "comm/speed_guard.h"

namespace crossrail::mpi {

using Word64 = std::intptr_t;

struct CommunicatorRecord;

struct Carried {
  bool done = false;  // false: hand the untouched arguments to the MPI library
  int code = 0;       // MPI's, where done
  const char* algorithm = "native";
  const char* native_because = nullptr;  // where not done, one of mpi/statistics/native_reasons.h
  std::uint64_t block_bytes = 0;
  std::uint64_t blocks = 1;  // that this rank sends, of that size on average
  bool on_copies = false;  // done, by the MPI library on copies of the buffers
  CommunicatorRecord* first_call_on = nullptr;  // not done, since this communicator is not open yet
  CommunicatorRecord* left_on = nullptr;  // not done, and the ranks of this communicator can see that (ControlBlock::leave_call)
  bool to_be_raised = false;  // done, with an error of which the error handler of this communicator is to be told
  Word64 raised_on = 0;
  SpeedGuard* timed = nullptr;  // where the time of this call is wanted: to be told when it has ended, natively too
};
// The MPI library's, for this reason.
inline Carried left(const char* native_because) {
  Carried carried;
  carried.native_because = native_because;
  return carried;
}
void first_call_ended(CommunicatorRecord& record);
void left_call_ended(CommunicatorRecord& record, bool well);
// The call has ended, by whichever way.
inline void has_ended(const Carried& carried) {
  if (carried.timed != nullptr) carried.timed->ended(carried.code == 0);
  if (carried.first_call_on != nullptr) first_call_ended(*carried.first_call_on);
  if (carried.left_on != nullptr) left_call_ended(*carried.left_on, carried.code == 0);
}

// The last thing of a call, after it has been counted: an error handler may end the process.
void raise_error(const Carried& carried);

// The arguments of the C calls, in their order: 7 of MPI_Alltoall and MPI_Allgather, 6 of MPI_Allreduce and
// MPI_Reduce_scatter_block, 9 of the others. Counts are int
// (displacements too), or MPI_Count (and MPI_Aint) where `large_counts`.
Carried carry_alltoall(const Word64* arguments, bool large_counts);
Carried carry_alltoallv(const Word64* arguments, bool large_counts);
Carried carry_alltoallw(const Word64* arguments, bool large_counts);
Carried carry_allreduce(const Word64* arguments, bool large_counts);
Carried carry_allgather(const Word64* arguments, bool large_counts);
Carried carry_reduce_scatter_block(const Word64* arguments, bool large_counts);

// The program is about to call MPI_Wait for the request at this address: then MPI_Wait of the MPI library, unless that is
// `left_out`, then wait_ended.
struct WaitBegun {
  bool left_out = false;
  bool mend_status = false;
};
WaitBegun wait_begins(Word64 request);
void wait_ended(const WaitBegun& begun, Word64 status);
// MPI_Waitall for the requests at this address.
void waitall_begins(Word64 count, Word64 requests);
// It is about to ask whether requests are complete. Without a hook in its progress the MPI library may answer without
// a look at the call (MPICH 4.0 in MPI_Request_get_status), again and again.
void look_begins();

// MPI_Finalize is about to be called. MPICH waits there for hooks in its progress to end, before anything else.
void finalize_begins();

// A blocking collective that is not ours is about to begin on the communicator in this word.
void blocking_collective(Word64 comm);

// What carried this thread's last call.
const char* last_algorithm();

}  // namespace crossrail::mpi
