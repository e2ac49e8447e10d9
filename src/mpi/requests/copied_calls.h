// Some native calls have buffers in device memory that the MPI library cannot read. MPI then gets copies in host memory. Other ranks need not do the
// same.
//
// Only data go back to device memory, row by row (buffers/side_parts.h), because the program or another call may write to the gaps of a
// datatype meanwhile. A copy keeps the distances between all parts of a side. If the parts lie across a terabyte or more, as blocks of the
// host and of a device may in a call with absolute addresses, the call ends with an error, since MPI could not read the device memory.
#pragma once

#include <array>

#include "device/device.h"
#include "mpi/observe/entry_point.h"
#include "mpi/buffers/side_parts.h"
#include "mpi/library/library.h"

namespace crossrail::mpi {

// These are the sides of a call. A side with nothing to send is empty.
struct SidesOfCall {
  Side sent, received;
  MPI_Comm comm;
};

// Calls MPI's function with copies of what is in device memory. The result is not done if neither side is there. It is an error if there is no memory
// for copies, since MPI cannot read the originals.
void call_on_copies(const EntryPoint& entry, const Word64* words, const SidesOfCall& sides, CallResult& result);
// Starts MPI's nonblocking function with copies, and stores a request where the program wants it. The result is as above.
CallResult start_on_copies(const EntryPoint& entry, const Word64* words, const SidesOfCall& sides);

// Completes the calls whose exchange is over, and returns how many. MPI's progress calls it.
int advance_copied_calls();
bool any_copied_calls();
// Returns whether the request stands for a call whose exchange is not over.
bool is_copied_call_under_way(MPI_Request request);
// MPI_Waitall of MPICH needs it, because it cannot wait for requests whose exchange is not over.
void await_copied_calls(const MPI_Request* requests, int count);

}  // namespace crossrail::mpi
