// Requests of ours that the program has in its hands.

#include <sched.h>

#include <array>
#include <mutex>
#include <unordered_map>

#include "mpi/library/pmpi.h"
#include "mpi/library/polled_requests.h"
#include "mpi/library/progress_hook.h"
#include "mpi/requests/pending.h"

namespace crossrail::mpi {
namespace {

constexpr std::size_t kEntries = 256;
constexpr std::uint64_t kReserved = ~std::uint64_t{0};  // no handle
constexpr int kSpinsAProgress = 64;
constexpr int kSpinsInACall = 64;
constexpr std::int64_t kYieldNs = 20'000;
constexpr std::int64_t kMostNs = 200'000;

struct Entry {
  std::atomic<std::uint64_t> request{0};
  std::atomic<PendingCall*> call{nullptr};
};

// By a hash of the handle; those that find their place taken are in a list.
std::array<Entry, kEntries> entries;
std::atomic<int> live{0};
std::atomic<int> crowded{0};
std::mutex mutex;
std::unordered_map<std::uint64_t, PendingCall*>& others() {
  static auto& all = *new std::unordered_map<std::uint64_t, PendingCall*>;
  return all;
}

std::uint64_t word_of(MPI_Request request) { return (std::uint64_t)(std::uintptr_t)request; }  // an int or a pointer, by flavour
Entry& entry_of(std::uint64_t word) { return entries[(word ^ word >> 7 ^ word >> 13) % kEntries]; }

PendingCall* find(MPI_Request request) {
  const std::uint64_t word = word_of(request);
  Entry& entry = entry_of(word);
  if (entry.request.load(std::memory_order_acquire) == word) return entry.call.load(std::memory_order_relaxed);
  if (crowded.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::lock_guard lock(mutex);
  const auto found = others().find(word);
  return found == others().end() ? nullptr : found->second;
}

// Until the call has ended, or, `briefly`, it takes too long. Now and then the MPI library moves what is its own.
bool await_call(const PendingCall& call, bool briefly) {
  std::int64_t began = 0;
  for (int spin = 1; !call.has_ended.load(std::memory_order_acquire); ++spin) {
    (void)pending_calls().advance(began == 0 ? kSpinsInACall : 0);
    if (spin % kSpinsAProgress != 0) continue;
    int flag = 0;
    (void)pmpi().Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, handles().comm_self, &flag, MPI_STATUS_IGNORE);
    const std::int64_t now = now_ns();
    if (began == 0) began = now;
    if (briefly && now - began > kMostNs) return false;
    if (now - began > kYieldNs) sched_yield();
  }
  return true;
}

}  // namespace

void remember_request(MPI_Request request, PendingCall& call) {
  const std::uint64_t word = word_of(request);
  Entry& entry = entry_of(word);
  std::uint64_t nobody = 0;
  live.fetch_add(1, std::memory_order_relaxed);
  if (entry.request.compare_exchange_strong(nobody, kReserved)) {
    entry.call.store(&call, std::memory_order_relaxed);
    entry.request.store(word, std::memory_order_release);
    return;
  }
  const std::lock_guard lock(mutex);
  others()[word] = &call;
  crowded.store(static_cast<int>(others().size()), std::memory_order_relaxed);
}

void forget_request(MPI_Request request) {
  const std::uint64_t word = word_of(request);
  Entry& entry = entry_of(word);
  live.fetch_sub(1, std::memory_order_relaxed);
  if (entry.request.load(std::memory_order_acquire) == word) {
    entry.request.store(0, std::memory_order_release);
    return;
  }
  const std::lock_guard lock(mutex);
  others().erase(word);
  crowded.store(static_cast<int>(others().size()), std::memory_order_relaxed);
}

void await_ours(const MPI_Request* request) {
  if (live.load(std::memory_order_relaxed) == 0 || request == nullptr) return;
  if (const PendingCall* const call = find(*request); call != nullptr) (void)await_call(*call, true);
  complete_ended();
}

void advance_before_look() {
  if (live.load(std::memory_order_relaxed) == 0 || !mover_advances()) return;
  (void)pending_calls().advance();
  complete_ended();
}

// Where no hook completes it: who has seen its end may have to do that, or to let another thread do it.
void await_completed(MPI_Request request, const PendingCall& call) {
  (void)await_call(call, false);
  while (call.code == Code::ok) {
    complete_ended();
    int flag = 0;
    if (pmpi().Request_get_status(request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag != 0) return;
    sched_yield();
  }
  complete_ended();
}

void await_all_ours(const MPI_Request* requests, int count) {
  if (live.load(std::memory_order_relaxed) == 0 || requests == nullptr) return;
  const bool briefly = !waitall_refuses_generalized_requests();
  for (int one = 0; one < count; ++one) {
    const PendingCall* const call = find(requests[one]);
    if (call == nullptr) continue;
    if (mover_advances()) {
      await_completed(requests[one], *call);
    } else if (!await_call(*call, briefly)) {
      return;
    }
  }
}

}  // namespace crossrail::mpi
