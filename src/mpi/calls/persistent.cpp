#include "mpi/calls/persistent.h"

#include <memory>
#include <optional>

#include "engine/engine.h"
#include "mpi/arguments/any_call.h"
#include "mpi/calls/native_copies.h"
#include "mpi/calls/worth_opening.h"
#include "mpi/communicator/opening.h"
#include "mpi/communicator/persistent_slot.h"
#include "mpi/communicator/raised_errors.h"
#include "mpi/communicator/rank_order.h"
#include "mpi/library/progress_hook.h"
#include "mpi/requests/pending.h"
#include "mpi/requests/persistent_copies.h"
#include "mpi/requests/request_table.h"
#include "mpi/words/native_reasons.h"

namespace crossrail::mpi {
// Persistent is the part of a persistent call that does not depend on its arguments.
class Persistent : public OurRequest, public Startable {
 public:
  Persistent(CommunicatorRecord& record, const char* function) : OurRequest(record, function) {}

  void complete() override {
    use.ended(*this);
    const int result = use.raise(*this);
    if (end(token_started, result)) delete this;
  }
  AfterWait complete_in_wait() override {
    if (code != Code::ok) return OurRequest::complete_in_wait();
    use.ended(*this);
    (void)use.code(*this);
    becomes_inactive();
    withdraw_token(token);
    return AfterWait::cancelled;
  }
  Persistent* persistent() override { return this; }

  // The token, for which the program waits, is started first. If it cannot be started, the call does not begin, and the other ranks hear of
  // it.
  int start() override {
    const int started = start_token(token);
    token_started = started == MPI_SUCCESS;
    if (!token_started) {
      withdraw(*slot, shape, Code::system);
      return started;
    }
    becomes_active();
    has_ended.store(false, std::memory_order_relaxed);
    may_be_told.store(false, std::memory_order_relaxed);
    traced = use.begins();
    start_pending(*this);
    may_be_told.store(true, std::memory_order_release);
    return started;
  }
  void free() override {
    forget_request(live);
    if (release()) delete this;
  }

  PersistentSlotInUse slot_of_its_own;
  LiveRequest live;

 private:
  bool token_started = false;
};

namespace {

template <class Call>
struct PersistentOf final : Persistent {
  PersistentOf(const Call& its_call, CommunicatorRecord& record, const char* function) : Persistent(record, function), call(its_call) {}
  Call call;
  typename Call::Facts facts;
  std::optional<typename Call::Packed> packed;
};

// Plans the call with all ranks. `native` is true if MPI is to handle the call after all.
template <class Call>
Status prepare(PersistentOf<Call>& whole, EntryPoint& entry, bool& native) {
  CommunicatorRecord& record = whole.use.record();
  native = true;
  const bool has_token = tokens_possible() && open_token(whole.token) == MPI_SUCCESS;
  whole.slot_of_its_own = open_persistent_slot(record, has_token ? Code::ok : Code::system);
  if (whole.slot_of_its_own == nullptr) return {};
  Slot& slot = *whole.slot_of_its_own->slot;
  if (whole.call.unequal(record.communicator->topology.rank)) {
    withdraw(slot, whole.call.shape(), Code::mismatch);
    return failed(Code::mismatch, "the send and the receive side of this rank differ in size");
  }
  typename Call::Packed seen = whole.call.packed(slot.packing, handles().comm_self);
  const bool not_for_mpi = copies_may_be_needed() && touches_devices(whole.call);
  CROSSRAIL_TRY(plan_ahead(slot, whole.call.shape(), {seen, not_for_mpi}, native));
  if (native) return {};
  slot.pending = true;
  whole.call.keep_types(whole.use.types);
  whole.packed.emplace(whole.call.packed(slot.packing, handles().comm_self));
  whole.packed->fix();
  whole.use.count_for(entry.counter, whole.call.block_bytes(), whole.call.blocks_sent(record.communicator->topology.size));
  whole.slot = &slot;
  whole.shape = whole.call.shape();
  whole.user = &*whole.packed;
  whole.messages = record.communicator->slot().links->messages_open();
  whole.has_ended = true;
  return {};
}

template <class Call>
CallResult init(const Call& arguments, EntryPoint& entry, MPI_Request* request) {
  CallResult carried;
  if (arguments.left_to_mpi() || request == nullptr) return left(native_because::kArguments);
  if (arguments.has_own_operation()) return left(native_because::kArguments);  // such a call is not worth opening a communicator
  CommunicatorRecord* const record = record_of(arguments.comm());
  if (const char* const reason = why_never_carried(record); reason != nullptr) return left(reason);
  // Other ranks may have turned away already: on such a communicator only ranks with a device driver come here.
  if (record->communicator->native_only) return left(native_because::kNoAlgorithm);
  if (record->communicator->slots.size() < 2) return left(native_because::kNothingPending);
  auto whole = std::make_unique<PersistentOf<Call>>(arguments, *record, entry.name());
  if (!is_ours(whole->call.survey(record->communicator->topology.size, whole->facts), carried)) return carried;
  carried.done = true;
  bool native = true;
  if (const Status prepared = prepare(*whole, entry, native); !prepared.ok()) {
    carried.code = raise({entry.name(), record->comm}, prepared);
    return carried;
  }
  if (native) return left(native_because::kNoRowFits);
  carried.code = MPI_SUCCESS;
  whole->has_program_its_token = true;
  *request = whole->request = whole->live.request = whole->token.request;
  whole->live.call = whole.get();
  remember_request(whole->live);
  (void)whole.release();  // the program frees it by MPI_Request_free
  return carried;
}

// The answer is the same on all ranks. A rank that can have no tokens tells the others later (prepare).
bool persistent_may_be_pending() {
  int initialized = 0;
  if (find_functions() == nullptr || !has_progress_hook() || finalizing()) return false;
  (void)pmpi().Initialized(&initialized);
  return initialized != 0;
}

// MPI handles the call, and may need copies of device memory.
template <class Call>
CallResult init_natively(EntryPoint& entry, Call call, const Word64* words) {
  typename Call::Facts facts;
  return needs_copies(call, facts) ? init_on_copies(entry, words, sides_of(call)) : CallResult{};
}

template <class Call>
CallResult init_any(EntryPoint& entry, const Call& call, const Word64* words) {
  auto* const request = reinterpret_cast<MPI_Request*>(words[entry.function.request_word(Form::persistent)]);
  begin_call(CallRuns::often);
  if (!persistent_may_be_pending() || request == nullptr) return {};
  const CallResult result = init(call, entry, request);
  if (result.done) return result;
  const CallResult copied = init_natively(entry, call, words);
  return copied.done ? copied : result;
}

}  // namespace

Startable* find_startable(MPI_Request request) {
  OurRequest* const ours = find_request(request);
  return ours == nullptr ? find_persistent_on_copies(request) : ours->persistent();
}

CallResult init_persistent(EntryPoint& entry, const Word64* words) {
  if (find_functions() == nullptr) return {};
  const CallResult result = with_arguments(entry.function, words, entry.large_counts, [&](const auto& call) { return init_any(entry, call, words); });
  if (entry.function.reduces && (!result.done || result.on_copies)) tell_if_not_covered(handle_from<MPI_Comm>(entry.comm(words)), entry.name(), result);
  return result;
}

CallResult start_requests(Word64 count, Word64 requests) {
  CallResult carried;
  auto* const all = reinterpret_cast<MPI_Request*>(requests);
  if ((!any_requests() && !any_persistent_on_copies()) || all == nullptr) return carried;
  const int number = static_cast<int>(count);
  Startable* ours = nullptr;
  int first = 0;
  while (first < number && (ours = find_startable(all[first])) == nullptr) ++first;
  if (ours == nullptr) return carried;
  carried.done = true;
  const auto note = [&carried](int code) {
    if (code != MPI_SUCCESS) carried.code = code;
  };
  for (int one = 0; one < first; ++one) note(pmpi().Start(&all[one]));
  note(ours->start());
  for (int one = first + 1; one < number; ++one) {
    ours = find_startable(all[one]);
    note(ours != nullptr ? ours->start() : pmpi().Start(&all[one]));
  }
  return carried;
}

void free_request(Word64 request) {
  const auto* const its = reinterpret_cast<const MPI_Request*>(request);
  Startable* const ours = its == nullptr ? nullptr : find_startable(*its);
  if (ours != nullptr) ours->free();
}

}  // namespace crossrail::mpi
