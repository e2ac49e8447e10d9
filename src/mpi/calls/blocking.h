// Blocking collectives: either crossrail handles the call, or it is left to MPI.
#pragma once

#include "mpi/observe/entry_point.h"

namespace crossrail::mpi {

// `words` are the arguments of the C function. `result` comes empty; if it is not done afterwards, MPI is to get the call.
void run_blocking(EntryPoint& entry, const Word64* words, CallResult& result);

// Does what has to be done when the call has ended with `result.code`, whoever handled it.
void tell_ended(const CallResult& result);
inline void call_ended(const CallResult& result) {
  if (result.at_end != AtEnd::nothing) tell_ended(result);
}

}  // namespace crossrail::mpi
