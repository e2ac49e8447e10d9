#include "mpi/requests/persistent.h"

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "mpi/communicator/persistent_slot.h"
#include "mpi/interpose/complete_call.h"
#include "mpi/library/pmpi.h"
#include "mpi/library/progress_hook.h"
#include "mpi/requests/entry_points.h"
#include "mpi/requests/pending.h"
#include "mpi/requests/tokens.h"

namespace crossrail::mpi {
namespace {

// What all forms have in common, known by the request that the program holds.
struct Persistent {
  Persistent(CommunicatorRecord& record, const char* function) : use(record, function) { pending.whole = this; }
  virtual ~Persistent() { close_token(token); }

  PendingUse use;
  std::unique_ptr<PersistentSlot> slot;
  struct Pending : RequestedCall {
    Persistent* whole;
  } pending;
  Token token;
  std::atomic<bool> freed{false};  // by the program, while it was active

  static void complete(RequestedCall& pending) {
    Persistent& whole = *static_cast<Pending&>(pending).whole;
    whole.use.ended(pending);
    const bool last = whole.freed.load();
    complete_token(whole.token, whole.use.code(pending));
    if (last) delete &whole;
  }
};

std::mutex mutex;
std::unordered_map<std::uint64_t, Persistent*>& known() {
  static auto& all = *new std::unordered_map<std::uint64_t, Persistent*>;
  return all;
}
std::atomic<int> any{0};

std::uint64_t word_of(MPI_Request request) { return (std::uint64_t)(std::uintptr_t)request; }  // an int or a pointer, by flavour

// Null if it is none of ours.
Persistent* find(MPI_Request request) {
  if (any.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::lock_guard lock(mutex);
  const auto found = known().find(word_of(request));
  return found == known().end() ? nullptr : found->second;
}

template <class Call>
struct PersistentOf final : Persistent {
  PersistentOf(const Call& its_call, CommunicatorRecord& record, const char* function) : Persistent(record, function), call(its_call) {}
  Call call;
  typename Call::Facts facts;
  std::optional<typename Call::Packed> packed;
};

// Planning, by all ranks. Left `native` where the call is not ours after all.
template <class Call>
Status prepare(PersistentOf<Call>& whole, const EntryPoint& entry, bool& native) {
  CommunicatorRecord& record = whole.use.record();
  native = true;
  whole.slot = open_persistent_slot(record);
  if (whole.slot == nullptr) return {};
  Slot& slot = *whole.slot->slot;
  if (unequal(whole.call, record.communicator->topology.rank, whole.facts)) {
    withdraw(slot, whole.call.shape(), Code::mismatch);
    return failed(Code::mismatch, "the send and the receive side of this rank differ in size");
  }
  CROSSRAIL_TRY(plan_ahead(slot, whole.call.shape(), native));
  if (native) return {};
  slot.pending = true;
  whole.call.keep_types(whole.facts, whole.use.types);
  whole.packed.emplace(whole.call.packed(slot.packing, handles().comm_self, whole.facts));
  whole.use.count_for(entry.counter, whole.call.block_bytes());
  RequestedCall& pending = whole.pending;
  pending.slot = &slot;
  pending.shape = whole.call.shape();
  pending.user = &*whole.packed;
  pending.messages = record.communicator->slot().links->messages_open();
  pending.has_ended = true;
  pending.complete = Persistent::complete;
  return {};
}

template <class Call>
Carried init(const Call& arguments, const EntryPoint& entry, MPI_Request* request) {
  Carried carried;
  if (arguments.left_to_mpi() || request == nullptr) return carried;
  CommunicatorRecord* const record = record_of(arguments.comm());
  if (record == nullptr || record->communicator == nullptr || record->communicator->slots.size() < 2) return carried;
  auto whole = std::make_unique<PersistentOf<Call>>(arguments, *record, entry.function);
  const Survey found = whole->call.survey(record->communicator->topology.size, whole->facts);
  carried.done = found.answer != Survey::Answer::leave;
  carried.code = found.code;
  if (found.answer != Survey::Answer::carry) return carried;
  bool native = true;
  if (const Status prepared = prepare(*whole, entry, native); !prepared.ok()) {
    carried.code = raise({entry.function, record->comm}, prepared);
    return carried;
  }
  if (native) return {};
  carried.code = open_token(whole->token);
  if (carried.code != MPI_SUCCESS) return carried;
  *request = whole->token.request;
  remember_request(*request, whole->pending);
  const std::lock_guard lock(mutex);
  known()[word_of(*request)] = whole.release();
  any.fetch_add(1, std::memory_order_relaxed);
  return carried;
}

bool may_be_pending() { return find_functions() != nullptr && has_progress_hook() && tokens_possible(); }

int start(Persistent& whole) {
  if (const int code = start_token(whole.token); code != MPI_SUCCESS) return code;
  whole.pending.has_ended = false;
  whole.use.begins();
  start_pending(whole.pending);
  return MPI_SUCCESS;
}

}  // namespace

Carried init_alltoall(const Word64* words, bool large_counts, CallCounter* counter) {
  if (!may_be_pending()) return {};
  return init(AlltoallCall(words, large_counts), {"MPI_Alltoall_init", counter}, request_at(words, AlltoallCall::kWords + 1));
}

Carried init_alltoallv(const Word64* words, bool large_counts, CallCounter* counter) {
  if (!may_be_pending()) return {};
  return init<VectorCall>(AlltoallvCall(words, large_counts), {"MPI_Alltoallv_init", counter}, request_at(words, VectorCall::kWords + 1));
}

Carried init_alltoallw(const Word64* words, bool large_counts, CallCounter* counter) {
  if (!may_be_pending()) return {};
  return init<VectorCall>(AlltoallwCall(words, large_counts), {"MPI_Alltoallw_init", counter}, request_at(words, VectorCall::kWords + 1));
}

Carried start_requests(Word64 count, Word64 requests) {
  Carried carried;
  if (any.load(std::memory_order_relaxed) == 0) return carried;
  auto* const all = reinterpret_cast<MPI_Request*>(requests);
  bool ours = false;
  for (int one = 0; one < static_cast<int>(count) && !ours; ++one) ours = find(all[one]) != nullptr;
  if (!ours) return carried;
  carried.done = true;
  for (int one = 0; one < static_cast<int>(count); ++one) {
    Persistent* const whole = find(all[one]);
    const int code = whole != nullptr ? start(*whole) : pmpi().Start(&all[one]);
    if (code != MPI_SUCCESS) carried.code = code;
  }
  return carried;
}

void free_request(Word64 request) {
  const MPI_Request* const its = reinterpret_cast<const MPI_Request*>(request);
  Persistent* const whole = its == nullptr ? nullptr : find(*its);
  if (whole == nullptr) return;
  {
    const std::lock_guard lock(mutex);
    known().erase(word_of(*its));
    any.fetch_sub(1, std::memory_order_relaxed);
  }
  forget_request(*its);
  whole->freed = true;
  if (whole->pending.has_ended.load()) delete whole;
}

}  // namespace crossrail::mpi
