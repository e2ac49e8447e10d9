// Communicators' info in machine words: for entry points that include no mpi.h.
#pragma once

#include "mpi/words/call_result.h"

namespace crossrail::mpi {

// A call that gave the communicator in this word, or the one at this address, this info has succeeded.
void info_given(Word64 comm, Word64 info);
void info_given_to_new(Word64 comm_address, Word64 info);
// Copies of the communicator in this word, made by the next call, get this info; until it has returned.
void copies_begin(Word64 comm, Word64 info);
void copies_end();
// A call that made an info of what the communicator has, at this address, has succeeded.
void info_told(Word64 comm, Word64 info_address);

// The communicator at this address is about to be freed, and has been, by what the first has answered.
void* free_begins(Word64 comm_address);
void free_ends(void* begun);
// MPI_Comm_disconnect is about to be called for the one at this address, before free_begins.
void disconnect_begins(Word64 comm_address);

// MPI_Session_init or MPI_Session_finalize has succeeded.
void session_began();
void session_ended();

}  // namespace crossrail::mpi
