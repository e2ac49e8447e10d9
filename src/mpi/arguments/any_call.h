// Which kind of arguments a function has, for the code that handles all kinds alike.
#pragma once

#include "mpi/arguments/regular_call.h"
#include "mpi/arguments/scattered_call.h"
#include "mpi/arguments/vector_call.h"

namespace crossrail::mpi {

// Returns what `use` makes of the call's arguments, a RegularCall, a VectorCall or a ScatteredCall.
template <class Use>
auto with_arguments(const MpiFunction& function, const Word64* words, bool large_counts, Use use) {
  if (!function.has_counts) return use(RegularCall(function, words, large_counts));
  if (function.has_displacements) return use(VectorCall(function, words, large_counts));
  return use(ScatteredCall(function, words, large_counts));
}

}  // namespace crossrail::mpi
