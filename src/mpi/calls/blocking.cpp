#include "mpi/calls/blocking.h"

#include <cstring>
#include <type_traits>

#include "engine/device_call.h"
#include "engine/engine.h"
#include "mpi/arguments/any_call.h"
#include "mpi/calls/native_copies.h"
#include "mpi/calls/worth_opening.h"
#include "mpi/communicator/raised_errors.h"
#include "mpi/communicator/rank_order.h"
#include "mpi/observe/traffic.h"

namespace crossrail::mpi {
namespace {

template <class Call>
typename Call::Facts no_facts;

// The facts of blocking calls with a count for each rank belong to the record, so that these calls allocate nothing. Other calls have none.
template <class Call>
typename Call::Facts& facts_of(CommunicatorRecord& record, const Call&) {
  if constexpr (kHasCounts<Call>) return record.facts;
  else return no_facts<Call>;
}

// Returns why the engine has left this call, whose plan it was, to MPI.
const char* why_native(Communicator& communicator, const Shape& shape, const Plan& plan) {
  if (communicator.broken) return native_because::kBroken;
  const Plan* const known = communicator.slot().plans.find(shape);
  if (known != nullptr && !known->native()) return communicator.guard.timing() ? native_because::kCompared : native_because::kMeasured;
  return (known == nullptr ? plan : *known).fallback ? native_because::kNoRowFits : native_because::kWanted;
}

// Keeps the record until the call has ended, because an error handler may free the communicator meanwhile.
void at_end(CallResult& result, CommunicatorRecord& record, AtEnd what) {
  use(record);
  result.record = &record;
  result.at_end = what;
}

struct Carrying {
  EntryPoint& entry;
  CommunicatorRecord& record;
  CallResult& result;
};

[[gnu::always_inline]] inline void complete(const Carrying& carrying, const Shape& shape, const Outcome& outcome) {
  const auto& [entry, record, result] = carrying;
  Communicator& communicator = *record.communicator;
  note_traffic(outcome.status.ok() ? outcome.plan : nullptr);
  if (communicator.guard.timing()) at_end(result, record, AtEnd::timed);
  if (!outcome.status.ok()) return fail({entry.name(), record.comm}, outcome.status, result);
  result.done = !outcome.plan->native();
  if (!result.done && (counting() || communicator.topology.rank_order)) result.native_because = why_native(communicator, shape, *outcome.plan);
  result.algorithm = outcome.plan->algorithm;
}

// This rank's own two sides differ in size. The other ranks are told, since they would wait for blocks of a size that will not come.
void refuse_unequal_sides(const Carrying& carrying, const Shape& shape) {
  withdraw(carrying.record.communicator->slot(), shape, Code::mismatch);
  fail({carrying.entry.name(), carrying.record.comm}, failed(Code::mismatch, "the send and the receive side of this rank differ in size"), carrying.result);
}

template <class Call>
void carry(const Carrying& carrying, const Call& call) {
  const auto& [entry, record, result] = carrying;
  Communicator& communicator = *record.communicator;
  const Shape shape = call.shape();
  result.blocks = static_cast<std::uint64_t>(call.blocks_sent(communicator.topology.size));
  result.block_bytes = call.block_bytes();
  if (call.unequal(communicator.topology.rank)) return refuse_unequal_sides(carrying, shape);
  auto packed = call.packed(communicator.slot().packing, record.comm);
  complete(carrying, shape, run_collective(communicator, shape, packed));
}

// Returns whether MPI is already known to get all v-calls on this communicator. Then the sides of this one need not be surveyed, which
// takes longer the more ranks there are. Where calls may be on devices it is the sides that decide.
template <class Call>
bool is_native_already(CommunicatorRecord& record, const Call& call) {
  if (!call.has_one_shape()) return false;
  if (record.communicator->broken) return true;
  Slot& slot = record.communicator->slot();
  if (may_be_on_devices(slot, call.shape())) return false;
  const Plan* const known = slot.plans.find(call.shape());
  return known != nullptr && known->native();
}

template <class Call>
void leave_unsurveyed(const Carrying& carrying, const Call& call) {
  const auto& [entry, record, result] = carrying;
  const int ranks = record.communicator->topology.size;
  result.blocks = static_cast<std::uint64_t>(call.blocks_sent(ranks));
  if (counting()) result.block_bytes = call.estimated_block_bytes(ranks);
  complete(carrying, call.shape(), run_collective(*record.communicator, call.shape(), {}));
}

// Tells the other ranks that this one makes a reduction with an operation of the program's own. If they use one of MPI's operations in this
// call, which is wrong, they would otherwise wait for this rank for ever. A reduction of nothing is no reason, because MPI libraries then
// do nothing, whatever the operation.
template <class Call>
void say_if_own_operation(const Carrying& carrying, const Call& call) {
  if (!carrying.record.opened || !call.has_own_operation() || call.block_bytes() == 0) return;
  ControlBlock* const control = carrying.record.communicator->slot().control.get();
  if (control == nullptr) return;
  control->leave_call();
  at_end(carrying.result, carrying.record, AtEnd::left_to_mpi);
}

// Keeps the call for run_like_last. Compilers copy the call member by member, which takes four times as long as to copy its bytes.
void remember(CommunicatorRecord& record, const RegularCall& call) {
  static_assert(std::is_trivially_copyable_v<RegularCall>);
  if (record.last_regular.has_value()) std::memcpy(static_cast<void*>(&*record.last_regular), &call, sizeof call);
  else record.last_regular = call;
}

// Says what is known of the sides of a call that has not been handled.
enum class Sides { unknown, surveyed, wrong };

template <class Call>
Sides try_to_carry(const Carrying& carrying, Call& call, typename Call::Facts& facts) {
  const auto& [entry, record, result] = carrying;
  if constexpr (requires { call.has_one_shape(); }) {
    if (record.opened && is_native_already(record, call)) {
      leave_unsurveyed(carrying, call);
      return Sides::unknown;
    }
  }
  if (!is_ours(call.survey(record.ranks, facts), result)) {
    if (!result.done) say_if_own_operation(carrying, call);
    // An operation of the program's own says nothing against the sides of a reduction.
    return kHasPlaces<Call> ? Sides::wrong : Sides::surveyed;
  }
  if (!record.opened) {
    const Shape shape = call.shape();
    result.block_bytes = call.block_bytes();
    result.blocks = static_cast<std::uint64_t>(call.blocks_sent(record.ranks));
    if (record.comm == handles().comm_world || !moves_nothing(shape)) count_blocking(record, shape.collective, worth_opening(call, record.ranks));
    if (const char* const reason = why_never_carried(&record); reason != nullptr) {
      result.native_because = reason;
      return Sides::surveyed;
    }
  }
  if (record.opened) {
    carry(carrying, call);
    if constexpr (std::is_same_v<Call, RegularCall>) remember(record, call);
  } else {
    result.native_because = process_settings().enabled == 0 ? native_because::kOff : native_because::kFirstCalls;
    if (first_call_begins(record)) at_end(result, record, AtEnd::first_call);
  }
  return Sides::surveyed;
}

// Handles a call that is like the last one on its communicator, of which programs make most. Returns false if it is another one.
bool run_like_last(EntryPoint& entry, CommunicatorRecord& record, const Word64* words, CallResult& result) {
  const InTurn turn(&record.turn);
  if (!record.last_regular.has_value() || !record.last_regular->becomes(entry.function, words, entry.large_counts)) return false;
  carry({entry, record, result}, *record.last_regular);
  return true;
}

[[gnu::noinline, gnu::cold]] void leave_on_copies(EntryPoint& entry, const Word64* words, CallResult& result) {
  RegularCall::Facts facts;
  RegularCall call(entry.function, words, entry.large_counts);
  if (needs_copies(call, facts)) call_on_copies(entry, words, sides_of(call), result);
}

template <class Call>
void run(EntryPoint& entry, CommunicatorRecord* record, const Word64* words, CallResult& result) {
  if constexpr (std::is_same_v<Call, RegularCall>) {
    if (record != nullptr && record->may_carry() && run_like_last(entry, *record, words, result)) {
      if (!result.done && copies_may_be_needed()) leave_on_copies(entry, words, result);
      return;
    }
  }
  Call call(entry.function, words, entry.large_counts);
  if (call.left_to_mpi()) {
    result.native_because = native_because::kArguments;
    return;
  }
  Sides sides = Sides::unknown;
  if (const char* const reason = why_never_carried(record); reason != nullptr) {
    result.native_because = reason;
  } else {
    const InTurn turn(&record->turn);
    sides = try_to_carry({entry, *record, result}, call, facts_of(*record, call));
  }
  if (result.done || sides == Sides::wrong || !copies_may_be_needed()) return;
  typename Call::Facts own;
  auto& facts = sides == Sides::surveyed ? facts_of(*record, call) : own;
  if (sides == Sides::surveyed || needs_copies(call, facts)) call_on_copies(entry, words, sides_of(call), result);
}

void run_known(EntryPoint& entry, const Word64* words, CallResult& result) {
  begin_call(CallRuns::once);
  CommunicatorRecord* const record = record_for_call(handle_from<MPI_Comm>(entry.comm(words)));
  // The arguments of a call that is always native need no look.
  if (const char* const reason = why_never_carried(record); reason != nullptr && !copies_may_be_needed()) {
    result.native_because = reason;
    if (record != nullptr && !ever_asked_for_rank_order()) always_native = {entry.comm(words), last_record.generation};
  } else {
    with_kind(entry.function, [&]<class Call>(KindOfCall<Call>) { run<Call>(entry, record, words, result); });
  }
}

}  // namespace

void run_blocking(EntryPoint& entry, const Word64* words, CallResult& result) {
  if (find_functions() == nullptr) {
    result.native_because = native_because::kNoMpi;
    return;
  }
  run_known(entry, words, result);
  if (entry.function.reduces && (!result.done || result.on_copies)) tell_if_not_covered(handle_from<MPI_Comm>(entry.comm(words)), entry.name(), result);
  if (result.done) note_algorithm(result.algorithm);
  else note_native();
}

void tell_ended(const CallResult& result) {
  CommunicatorRecord& record = *result.record;
  const bool well = result.code == MPI_SUCCESS;
  switch (result.at_end) {
    case AtEnd::nothing: break;
    case AtEnd::first_call: first_call_ended(record); break;
    case AtEnd::timed: record.communicator->guard.ended(well); break;
    case AtEnd::left_to_mpi:
      // MPI may have refused the call on this rank and taken it on others, so this rank no longer counts it.
      if (!well) {
        const InTurn turn(&record.turn);
        record.communicator->slot().control->take_back();
      }
      break;
  }
  unuse(record);
}

}  // namespace crossrail::mpi
