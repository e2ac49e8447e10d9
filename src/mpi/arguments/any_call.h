// Which kind of arguments a function has, for the code that handles all kinds alike.
#pragma once

#include "mpi/arguments/regular_call.h"
#include "mpi/arguments/scattered_call.h"
#include "mpi/arguments/vector_call.h"

namespace crossrail::mpi {

// Names a class of arguments without an object of it.
template <class Call>
struct KindOfCall {};

// Returns what `use` makes of the KindOfCall that the function's arguments are.
template <class Use>
auto with_kind(const MpiFunction& function, Use use) {
  if (!function.has_counts) return use(KindOfCall<RegularCall>());
  if (function.has_displacements) return use(KindOfCall<VectorCall>());
  return use(KindOfCall<ScatteredCall>());
}

// Returns what `use` makes of the call's arguments, a RegularCall, a VectorCall or a ScatteredCall.
template <class Use>
auto with_arguments(const MpiFunction& function, const Word64* words, bool large_counts, Use use) {
  return with_kind(function, [&]<class Call>(KindOfCall<Call>) { return use(Call(function, words, large_counts)); });
}

}  // namespace crossrail::mpi
