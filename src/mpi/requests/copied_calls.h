// Calls that go to the MPI library on buffers in device memory of which it knows nothing: it gets copies in host memory.
// Whether other ranks do the same does not matter.
#pragma once

#include <array>

#include "mpi/interpose/carry.h"
#include "mpi/requests/entry_points.h"

namespace crossrail::mpi {

// Whether the MPI library says that it takes device pointers.
bool mpi_takes_device_memory();

// The addresses of a call's two sides among its words, with what they span; empty where there is nothing to send.
struct SidesOfCall {
  Span sent, received;
  std::size_t send_word, receive_word, last_word;  // the last is the request, of those that have one
};

// Calls the function of this name with copies of what is in device memory. Not done if no side is there.
Carried call_on_copies(const char* function, const Word64* words, const SidesOfCall& sides);
// Starts the function of this name with copies of what is in device memory, and puts a request for it where the
// program wants it. Not done if no side is there.
Carried start_on_copies(const char* function, const Word64* words, const SidesOfCall& sides);

// Completes those whose exchange is over; how many. For the MPI library's progress.
int advance_copied_calls();
bool any_copied_calls();

}  // namespace crossrail::mpi
