// Nonblocking collectives are generalized requests (requests/pending.h).
#pragma once

#include "mpi/observe/entry_point.h"

namespace crossrail::mpi {

// `words` are the arguments of the C function, the last of which is the address of the request. If the result is not done, MPI is to get
// the call.
CallResult start_nonblocking(EntryPoint& entry, const Word64* words);

}  // namespace crossrail::mpi
