#include "mpi/calls/nonblocking.h"

#include <atomic>
#include <memory>
#include <optional>

#include "engine/engine.h"
#include "mpi/arguments/any_call.h"
#include "mpi/buffers/prepared_buffers.h"
#include "mpi/calls/native_copies.h"
#include "mpi/calls/worth_opening.h"
#include "mpi/communicator/rank_order.h"
#include "mpi/library/polled_requests.h"
#include "mpi/requests/nonblocking_request.h"
#include "mpi/words/native_reasons.h"

namespace crossrail::mpi {
namespace {

template <class Call>
struct Nonblocking final : NonblockingRequest {
  Nonblocking(const Call& its_call, CommunicatorRecord& record, const char* function)
      : NonblockingRequest(record, function), call(its_call) {}
  Call call;
  typename Call::Facts facts;
  PackingMemory memory;  // It serves a call that is advanced where MPI may not be called.
  std::optional<typename Call::Packed> packed;
  std::optional<PreparedBuffers> prepared;

  // Finds the buffers before the call begins.
  void find_buffers() {
    const bool now = mover_advances();
    packed.emplace(call.packed(now ? memory : slot->packing, handles().comm_self));
    user = &*packed;
    if (!now) return;
    prepared.emplace(*packed);
    if (!refused) prepared->prepare();
    user = &*prepared;
  }

 protected:
  void close() override {
    if (!prepared || code != Code::ok) return;
    const Status closed = prepared->finish();
    if (closed.ok()) return;
    code = closed.code;
    what = closed.what;
  }
  bool moved() const override { return prepared.has_value(); }
};

// The request is made first: if MPI has none, the call must not begin, and the other ranks hear of it. Mostly it is one that an earlier
// call has left.
template <class Call>
int begin(std::unique_ptr<Nonblocking<Call>> whole, MPI_Request* request) {
  Nonblocking<Call>& one = *whole;
  if (const int code = one.prepare_request(); code != MPI_SUCCESS) {
    withdraw(*one.slot, one.shape, Code::system);
    return code;
  }
  (void)whole.release();  // MPI or the program's wait frees it
  one.may_be_told = false;
  one.traced = one.use.begins();
  start_pending(one);
  one.open(request);
  one.may_be_told.store(true, std::memory_order_release);
  return MPI_SUCCESS;
}

// Surveys a call on a communicator that is not open, which may be open afterwards. Returns false if the call is native in any case.
template <class Call>
bool survey_first(CommunicatorRecord& record, Call call, CallResult& carried) {
  typename Call::Facts facts;
  if (!is_ours(call.survey(record.ranks, facts), carried)) return false;
  if (!moves_nothing(call.shape())) count_nonblocking(record, worth_opening(call, record.ranks));
  return true;
}

template <class Call>
CallResult start(const Call& arguments, EntryPoint& entry, MPI_Request* request) {
  CallResult carried;
  CommunicatorRecord* const record = record_for_call(arguments.comm());
  if (record == nullptr) return left(native_because::kNothingPending);
  if (arguments.left_to_mpi() || request == nullptr) return left(native_because::kArguments);
  if (!record->opened && !survey_first(*record, arguments, carried)) return carried;
  if (!can_have_pending_calls(*record)) return left(native_because::kNothingPending);
  Communicator& communicator = *record->communicator;
  auto whole = std::make_unique<Nonblocking<Call>>(arguments, *record, entry.name());
  Call& call = whole->call;
  if (!is_ours(call.survey(communicator.topology.size, whole->facts), carried)) return carried;
  if (!can_be_pending(communicator, call.shape())) return left(native_because::kNoRowFits);
  Nonblocking<Call>& pending = *whole;
  pending.slot = communicator.next_pending_slot();
  pending.shape = call.shape();
  pending.messages = pending.slot->links->messages_open();
  pending.refused = call.unequal(communicator.topology.rank);
  whole->use.count_for(entry.counter, call.block_bytes(), call.blocks_sent(communicator.topology.size));
  call.keep_types(whole->use.types);
  whole->find_buffers();
  carried.done = true;
  carried.code = begin(std::move(whole), request);
  return carried;
}

// Returns whether calls may be pending in this process. A program that has only sessions lacks MPI_COMM_SELF, with which waits make
// progress and types are packed. MPI_Finalize first deletes attributes, whose functions may call MPI when nothing advances calls any
// longer.
bool may_be_pending() {
  if (finalizing()) return false;
  // The answer is the same on all ranks. Who advances calls depends on the thread levels, which ranks tell each other when the communicator
  // is opened.
  static std::atomic<bool> known{false};
  if (known.load(std::memory_order_relaxed)) return true;
  if (find_functions() == nullptr) return false;
  int initialized = 0;
  (void)pmpi().Initialized(&initialized);
  known = initialized != 0;
  return known;
}

// MPI handles the call, and may need copies of device memory.
template <class Call>
CallResult start_natively(EntryPoint& entry, Call call, const Word64* words) {
  typename Call::Facts facts;
  if (who_advances() == Advancing::nobody || !needs_copies(call, facts)) return {};
  return start_on_copies(entry, words, sides_of(call));
}

template <class Call>
CallResult start_any(EntryPoint& entry, const Call& call, const Word64* words) {
  auto* const request = reinterpret_cast<MPI_Request*>(words[entry.function.words()]);
  begin_call(CallRuns::once);
  if (!may_be_pending()) return left(native_because::kNoRecord);
  const CallResult result = start(call, entry, request);
  if (result.done || request == nullptr) return result;
  const CallResult copied = start_natively(entry, call, words);
  return copied.done ? copied : result;
}

}  // namespace

CallResult start_nonblocking(EntryPoint& entry, const Word64* words) {
  if (find_functions() == nullptr) return left(native_because::kNoMpi);
  const CallResult result = with_arguments(entry.function, words, entry.large_counts, [&](const auto& call) { return start_any(entry, call, words); });
  if (entry.function.reduces && (!result.done || result.on_copies)) tell_if_not_covered(handle_from<MPI_Comm>(entry.comm(words)), entry.name(), result);
  return result;
}

}  // namespace crossrail::mpi
