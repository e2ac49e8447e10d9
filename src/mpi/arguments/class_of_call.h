// The class for the arguments of a collective.
#pragma once

#include <type_traits>

#include "mpi/arguments/regular_call.h"
#include "mpi/arguments/rooted_call.h"
#include "mpi/arguments/vector_call.h"

namespace crossrail::mpi {

// Returns what `visit.operator()<Call>()` returns, for the class of this function's arguments.
template <class Visit>
auto with_class_of_call(const MpiFunction& function, Visit visit) {
  const bool rooted = function.root_word >= 0;
  if (rooted) return function.has_counts ? visit.template operator()<RootedVectorCall>() : visit.template operator()<RootedCall>();
  return function.has_counts ? visit.template operator()<VectorCall>() : visit.template operator()<RegularCall>();
}

// Calls whose blocks have a length each: no rank knows those of others, and a survey needs memory for them.
template <class Call>
inline constexpr bool kHasCounts = std::is_same_v<typename Call::Facts, VectorCall::Facts>;

}  // namespace crossrail::mpi
