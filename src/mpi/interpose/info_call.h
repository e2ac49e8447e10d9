// These functions take communicators and their info as machine words, for entry points that do not include mpi.h.
#pragma once

#include "mpi/words/call_result.h"

namespace crossrail::mpi {

// A call has given this info to the communicator in this word, or to the new one at this address.
void info_given(Word64 comm, Word64 info);
void info_given_to_new(Word64 comm_address, Word64 info);
// From now on until copies_end, copies of the communicator in this word get this info.
void copies_begin(Word64 comm, Word64 info);
void copies_end();
// A call has made an info object of what the communicator has, at this address.
void info_told(Word64 comm, Word64 info_address);

// The communicator at this address is about to be freed; free_ends gets what free_begins has returned.
void* free_begins(Word64 comm_address);
void free_ends(void* begun);
// MPI_Comm_disconnect is about to be called for the communicator at this address. This comes before free_begins.
void disconnect_begins(Word64 comm_address);

// MPI_Session_init or MPI_Session_finalize has succeeded.
void session_began();
void session_ended();

}  // namespace crossrail::mpi
