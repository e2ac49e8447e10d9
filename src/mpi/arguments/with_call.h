// The arguments of a collective as an object of the class for it.
#pragma once

#include <type_traits>

#include "mpi/arguments/regular_call.h"
#include "mpi/arguments/rooted_call.h"
#include "mpi/arguments/vector_call.h"

namespace crossrail::mpi {

// `words`: of the C function. Returns what `visit(call)` returns.
template <class Visit>
auto with_call(const MpiFunction& function, const Word64* words, bool large_counts, Visit visit) {
  const bool rooted = function.root_word >= 0;
  if (rooted) return function.has_counts ? visit(RootedVectorCall(function, words, large_counts)) : visit(RootedCall(function, words, large_counts));
  return function.has_counts ? visit(VectorCall(function, words, large_counts)) : visit(RegularCall(function, words, large_counts));
}

// Calls whose blocks have a length each: no rank knows those of others, and a survey needs memory for them.
template <class Call>
inline constexpr bool kHasCounts = std::is_same_v<typename Call::Facts, VectorCall::Facts>;

}  // namespace crossrail::mpi
