// Native calls on buffers in device memory that the MPI library cannot read: it gets copies in host memory. Other ranks need not do the
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
#include "mpi/buffers/packed_buffers.h"
#include "mpi/library/library.h"

namespace crossrail::mpi {

struct CopiedSide {
  Span span;
  SideParts parts;
};

// The addresses of a call's two sides among its words, with what they touch; empty where there is nothing to send.
struct SidesOfCall {
  CopiedSide sent, received;
  std::size_t send_word, receive_word, last_word;  // the last is the request, of those that have one
  MPI_Comm comm;
  bool reduces;
};

// Calls the MPI library's function with copies of what is in device memory. Not done if no side is there. An error where there is no memory
// for copies: the MPI library cannot have the call without.
void call_on_copies(const EntryPoint& entry, const Word64* words, const SidesOfCall& sides, CallResult& result);
// Starts the MPI library's nonblocking function with copies, and puts a request for it where the program wants it. As above.
CallResult start_on_copies(const EntryPoint& entry, const Word64* words, const SidesOfCall& sides);

// Completes those whose exchange is over; how many. For the MPI library's progress.
int advance_copied_calls();
bool any_copied_calls();
// Whether it stands for one whose exchange is not over.
bool is_copied_call_under_way(MPI_Request request);
// For MPI_Waitall of MPICH, which cannot wait for those whose exchange is not over.
void await_copied_calls(const MPI_Request* requests, int count);

}  // namespace crossrail::mpi
