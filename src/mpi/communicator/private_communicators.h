// The private communicators of this process: how many there are, and how they go. A rank that frees its communicator does not
// know of notices that are still on their way to it (MPICH ends a program that frees a communicator with messages on it). So a
// private communicator outlives the program's until what this rank has sent is received, and then until all ranks have come
// as far, which a nonblocking barrier tells. Nobody waits for it. One with messages that nobody has received, after an error, stays:
// a later communicator might have its context, and take them for its own. What travels on the common communicator (message_space.h)
// needs no barrier: whoever looks receives notices for all.
#pragma once

#include <memory>

#include "mpi/communicator/error_notices.h"

namespace crossrail::mpi {

// Whether there may be one more. MPI libraries have a limited number (MPICH about 2000): the program's come first.
bool room_for_private_communicator();
// A communicator's messages have been opened, on a private communicator of its own or on the common one.
void opened_messages(ErrorNotices& notices);
// May be called anywhere: calls no MPI.
void close_later(std::unique_ptr<ErrorNotices> notices);
// Brings those that are to go one step further. Not from inside the MPI library.
void close_private_communicators();
// The same until all have gone, and until what has been sent on the others is received, for a second at most.
void close_before_finalize();

}  // namespace crossrail::mpi
