#include "mpi/requests/copied_calls.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "base/own_thread.h"
#include "device/device.h"
#include "mpi/communicator/raised_errors.h"
#include "mpi/library/library.h"
#include "mpi/library/polled_requests.h"
#include "mpi/library/progress_hook.h"
#include "mpi/requests/copied_call.h"
#include "mpi/requests/pending.h"

namespace crossrail::mpi {
namespace {

// Its request is a generalized one. If MPI's progress has no hook, MPI polls the request or a thread waits for the exchange.
struct NonblockingOnCopies final : PendingCopiedCall {
  void finish() override {
    take_back();
    ended.store(true, std::memory_order_relaxed);
    (void)pmpi().Grequest_complete(request);
  }
  // Returns MPI's code. The call may no longer exist afterwards.
  int open(MPI_Request* its) {
    const int opened = start_request({query, free, cancel, poll, wait}, this, &request);
    *its = request;
    awaited_elsewhere = mover_completes();
    put_under_way(*this);
    if (awaited_elsewhere) await_elsewhere();
    return opened;
  }

 private:
  void await_elsewhere() {
    std::thread waits = start_own_thread("crossrail-copy", [this] { await_exchange(); });
    if (waits.joinable()) waits.detach();
    else await_exchange();
  }
  void await_exchange();
  static int poll(void*, MPI_Status*) {
    (void)advance_copied_calls();
    return MPI_SUCCESS;
  }
  static int wait(int count, void** calls, double, MPI_Status*) {
    for (int one = 0; one < count; ++one) {
      while (!static_cast<NonblockingOnCopies*>(calls[one])->ended.load(std::memory_order_relaxed)) (void)advance_copied_calls();
    }
    return MPI_SUCCESS;
  }
  static int query(void* call, MPI_Status* status) {
    fill_status(status, MPI_UNDEFINED, MPI_UNDEFINED);
    return static_cast<NonblockingOnCopies*>(call)->code;
  }
  static int free(void* call) {
    delete static_cast<NonblockingOnCopies*>(call);
    return MPI_SUCCESS;
  }
  static int cancel(void*, int) { return MPI_ERR_REQUEST; }

  std::atomic<bool> ended{false};
};

std::mutex mutex;  // It protects the list.
std::vector<PendingCopiedCall*>& copies_under_way() {
  static auto& all = *new std::vector<PendingCopiedCall*>;
  return all;
}
std::atomic<int> copied_count{0};
std::atomic_flag looking_at_copies;  // One thread looks at a time, even when a test calls the hook again.
struct EndOfLook {  // The destructor also runs when an operation of the program throws.
  ~EndOfLook() { looking_at_copies.clear(std::memory_order_release); }
};
std::atomic<int> ending{0};  // It counts the threads that complete a call which is no longer in the list.

void end(PendingCopiedCall& call) {
  ending.fetch_add(1);
  {
    const std::lock_guard lock(mutex);
    std::erase(copies_under_way(), &call);
  }
  call.finish();
  copied_count.fetch_sub(1);
  ending.fetch_sub(1);
}

// The caller holds the mutex.
bool is_in_list(MPI_Request request) {
  return std::any_of(copies_under_way().begin(), copies_under_way().end(), [request](const PendingCopiedCall* one) { return one->request == request; });
}

bool may_be_under_way(MPI_Request request) {
  const std::lock_guard lock(mutex);
  return ending.load() != 0 || is_in_list(request);
}

void NonblockingOnCopies::await_exchange() {
  code = pmpi().Wait(&native, MPI_STATUS_IGNORE);
  end(*this);
}

}  // namespace

bool PendingCopiedCall::over() {
  int done = 0;
  MPI_Status status;
  if (!may_test_in_hook(&native, 1)) return false;
  code = pmpi().Test(&native, &done, &status);  // MPI_Testall of MPICH 5.0 does not accept a persistent collective.
  return code != MPI_SUCCESS || done != 0;
}

void put_under_way(PendingCopiedCall& call) {
  hook_pending_calls();
  const std::lock_guard lock(mutex);
  copies_under_way().push_back(&call);
  copied_count.fetch_add(1);
}

int call_with(void* function, const CopiedCall::Words& words) {
  return std::apply([&](auto... word) { return static_cast<int>(reinterpret_cast<Word64 (*)(decltype(word)...)>(function)(word...)); }, words);
}

void* native_function(const EntryPoint& entry) {
  constexpr std::size_t kPrefix = std::string_view("MPI_").size();
  return library_function((std::string(entry.name() + kPrefix) + (entry.large_counts ? "_c" : "")).c_str());
}

namespace {

// A rank that is alone in its communicator sends to itself without MPI, if both sides are rows of equally many bytes.
bool goes_to_itself(const EntryPoint& entry, const SidesOfCall& sides) {
  int ranks = 0;
  if (entry.function.reduces || pmpi().Comm_size(sides.comm, &ranks) != MPI_SUCCESS || ranks != 1) return false;
  const SideParts from = parts_of(sides.sent), to = parts_of(sides.received);
  if (from.size() != 1 || to.size() != 1 || from[0].layout != nullptr || to[0].layout != nullptr || from[0].bytes != to[0].bytes) return false;
  return touches_devices(sides.sent) || touches_devices(sides.received);
}

Status copy_to_itself(const SidesOfCall& sides) {
  const auto first_of = [](const Side& side) { return moved(side.address, span_of(side).lower); };
  return device::copy(first_of(sides.received), first_of(sides.sent), span_of(sides.received).bytes);
}

}  // namespace

void call_on_copies(const EntryPoint& entry, const Word64* words, const SidesOfCall& sides, CallResult& carried) {
  CopiedCall call;
  CopiedCall::Words own{};
  void* const next = native_function(entry);
  if (next == nullptr) return;
  if (goes_to_itself(entry, sides)) {
    carried.done = carried.on_copies = true;
    if (const Status copied = copy_to_itself(sides); !copied.ok()) fail({entry.name(), sides.comm}, copied, carried);
    return;
  }
  Status ready = call.place(entry, words, sides, own);
  if (ready.ok()) ready = call.fill();
  if (!ready.ok()) return fail({entry.name(), sides.comm}, ready, carried);
  if (!call.needed()) return;
  carried.done = carried.on_copies = true;
  call.code = call_with(next, own);
  call.take_back();
  carried.code = call.code;
}

CallResult start_on_copies(const EntryPoint& entry, const Word64* words, const SidesOfCall& sides) {
  auto call = std::make_unique<NonblockingOnCopies>();
  CopiedCall::Words own{};
  CallResult carried;
  void* const next = native_function(entry);
  if (next == nullptr) return carried;
  Status ready = call->place(entry, words, sides, own);
  if (ready.ok()) ready = call->fill();
  carried.done = !ready.ok() || call->needed();
  if (!ready.ok()) carried.code = raise({entry.name(), sides.comm}, ready);
  if (!ready.ok() || !call->needed()) return carried;
  call->keep_layouts();
  const int request = entry.function.request_word(entry.form);
  own[static_cast<std::size_t>(request)] = word_of(&call->native);
  carried.on_copies = true;
  carried.code = call_with(next, own);
  if (carried.code != MPI_SUCCESS) return carried;
  carried.code = call.release()->open(reinterpret_cast<MPI_Request*>(words[request]));  // MPI frees it.
  return carried;
}

int advance_copied_calls() {
  if (!any_copied_calls() || looking_at_copies.test_and_set(std::memory_order_acquire)) return 0;
  const EndOfLook at_end;
  std::vector<PendingCopiedCall*> over;
  {
    const std::lock_guard lock(mutex);
    // Any other entry may be deleted at any time.
    std::copy_if(copies_under_way().begin(), copies_under_way().end(), std::back_inserter(over), [](const PendingCopiedCall* one) { return !one->awaited_elsewhere; });
  }
  std::erase_if(over, [](PendingCopiedCall* one) { return !one->over(); });
  for (PendingCopiedCall* one : over) end(*one);
  return static_cast<int>(over.size());
}

void await_copied_calls(const MPI_Request* requests, int count_of_all) {
  if (requests == nullptr || (!hooked_into_mpich() && !mover_advances())) return;
  for (int one = 0; one < count_of_all; ++one) {
    int over = requests[one] == handles().request_null ? 1 : 0;
    while (over == 0 && may_be_under_way(requests[one])) {
      if (mover_advances()) (void)advance_copied_calls();
      if (pmpi().Request_get_status(requests[one], &over, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
      if (over == 0) sched_yield();
    }
  }
}

bool is_copied_call_under_way(MPI_Request request) {
  if (!any_copied_calls()) return false;
  const std::lock_guard lock(mutex);
  return is_in_list(request);
}

bool any_copied_calls() { return copied_count.load(std::memory_order_relaxed) != 0; }

}  // namespace crossrail::mpi
