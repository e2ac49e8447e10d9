// These functions decide whether calls on a communicator that is not open yet are a reason to open it. Only calls that MPI would not refuse count, as
// a survey has found: the program may repeat a refused call on the one rank where it was wrong, and then the ranks' counts would differ.
#pragma once

#include "base/settings.h"
#include "collectives/algorithm.h"
#include "mpi/calls/native_copies.h"
#include "mpi/communicator/opening.h"
#include "mpi/words/native_reasons.h"

namespace crossrail::mpi {

// A call that sends this much takes about as long as opening does.
constexpr std::uint64_t kLongBytes = std::uint64_t{256} << 10;

// Returns whether opening pays for this call alone, as far as this rank sees.
template <class Call>
bool worth_opening(const Call& call, int ranks) {
  if (call.block_bytes() * static_cast<std::uint64_t>(call.blocks_sent(ranks)) >= kLongBytes) return true;
  return copies_may_be_needed() && touches_devices(call);
}

// Returns whether no rank sends anything. MPI libraries do not wait for other ranks in such calls, and programs may rely on that.
inline bool moves_nothing(const Shape& shape) { return shape.block_bytes == 0 && row_of(shape.collective).counts != Counts::vector; }

// Returns whether the survey has found a call that crossrail handles. Otherwise it sets the reason, and `result.done` if the error has been
// raised already.
inline bool is_ours(const Survey& found, CallResult& result) {
  result.done = found.answer == Survey::Answer::refused;
  result.code = found.code;
  result.native_because = native_because::kArguments;
  return found.answer == Survey::Answer::carry;
}

}  // namespace crossrail::mpi
