// Blocking collectives: crossrail carries the call, or it is left to the MPI library.
#pragma once

#include "mpi/observe/entry_point.h"

namespace crossrail::mpi {

// `words`: the arguments of the C function. `result` comes empty; not done: the MPI library is to get the call.
void run_blocking(EntryPoint& entry, const Word64* words, CallResult& result);

// The call has ended, whoever has carried it, with this code.
void tell_ended(const CallResult& result);
inline void call_ended(const CallResult& result) {
  if (result.at_end != AtEnd::nothing) tell_ended(result);
}

}  // namespace crossrail::mpi
