// Nonblocking collectives as generalized requests. These are genuine requests, which the program completes with whatever it likes, mixed with
// its own.
#pragma once

#include "mpi/observe/entry_point.h"

namespace crossrail::mpi {

// `words`: the arguments of the C function, of which the last is the address of the request. Not done: the MPI library is to get the call.
CallResult start_nonblocking(EntryPoint& entry, const Word64* words);

}  // namespace crossrail::mpi
