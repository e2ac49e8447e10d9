// These helpers tell which kind of arguments a function has, for code that handles all kinds alike.
#pragma once

#include <type_traits>

#include "mpi/arguments/regular_call.h"
#include "mpi/arguments/rooted_call.h"
#include "mpi/arguments/scattered_call.h"
#include "mpi/arguments/vector_call.h"

namespace crossrail::mpi {

// Names a class of arguments without an object of it.
template <class Call>
struct KindOfCall {};

// Returns what `use` makes of the KindOfCall that the function's arguments are.
template <class Use>
auto with_kind(const MpiFunction& function, Use use) {
  if (function.root_word >= 0) return function.has_counts ? use(KindOfCall<RootedVectorCall>()) : use(KindOfCall<RootedCall>());
  if (!function.has_counts) return use(KindOfCall<RegularCall>());
  if (function.has_displacements) return use(KindOfCall<VectorCall>());
  return use(KindOfCall<ScatteredCall>());
}

// Returns what `use` makes of the call's arguments, an object of its class.
template <class Use>
auto with_arguments(const MpiFunction& function, const Word64* words, bool large_counts, Use use) {
  return with_kind(function, [&]<class Call>(KindOfCall<Call>) { return use(Call(function, words, large_counts)); });
}

// The first constant says that the call has a count for each rank, for which a
// survey needs memory; the second, that each rank also has a place of its own.
template <class Call>
inline constexpr bool kHasCounts = std::is_same_v<typename Call::Facts, VectorCall::Facts>;
template <class Call>
inline constexpr bool kHasPlaces = kHasCounts<Call> && !std::is_same_v<Call, ScatteredCall>;

}  // namespace crossrail::mpi
