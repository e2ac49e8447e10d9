// This file counts the private communicators of this process and frees them. A rank that frees its communicator does not know of notices that are
// still on their way to it, and MPICH aborts a program that frees a communicator with messages on it. So a private communicator outlives the
// program's communicator until everything that this rank has sent is received, and then until all ranks have got that far, which a nonblocking
// barrier shows. No rank waits for it.
//
// After an error, a private communicator with messages that no rank has received stays: a later communicator might get its context and take them for
// its own. Messages on the common communicator (message_space.h) need no barrier, because a rank that looks receives notices for all communicators.
#pragma once

#include <memory>

#include "mpi/communicator/error_notices.h"

namespace crossrail::mpi {

// Returns whether one more may be made. MPI libraries have a limited number (MPICH about 2000), and the program's communicators take precedence.
bool room_for_private_communicator();
// A communicator's messages have been opened, on its own private communicator or on the common one.
void opened_messages(ErrorNotices& notices);
// May be called anywhere, because it makes no MPI call.
void close_later(std::unique_ptr<ErrorNotices> notices);
// Brings those that are to be freed one step further. Must not be called from inside MPI.
void close_private_communicators();
// Does the same until all of them are freed and what has been sent on the others is received, for at most a second.
void close_before_finalize();

}  // namespace crossrail::mpi
