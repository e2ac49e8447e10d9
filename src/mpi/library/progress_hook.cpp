#include "mpi/library/progress_hook.h"

#include <algorithm>
#include <atomic>

#include "mpi/library/pmpi.h"

namespace crossrail::mpi {
namespace {

// This is Open MPI's opal_progress_register(callback), which has the same prototype in versions 4, 5 and 6.
using OpalRegister = int (*)(int (*callback)());

// This is MPICH's MPIX_Async_start(poll, state, stream), whose handles are int.
struct AsyncThing;
using AsyncPoll = int (*)(AsyncThing*);
using AsyncStart = int (*)(AsyncPoll poll, void* state, int stream);
using IsComplete = int (*)(MPI_Request);
constexpr int kNoProgress = 0, kDone = 1;
// This is MPIX_STREAM_NULL, which had other values in earlier versions.
constexpr int kStreamNull = 0x3c000000;
constexpr int kFirstMpichKnown = 5;
constexpr int kMostInVain = 100'000;

struct Symbols {
  OpalRegister opal = nullptr;
  AsyncStart async_start = nullptr;
  IsComplete is_complete = nullptr;
};

const Symbols& symbols() {
  static const Symbols known = [] {
    Symbols found;
    found.opal = reinterpret_cast<OpalRegister>(library_symbol("opal_progress_register"));
    if (mpich_version() < kFirstMpichKnown) return found;
    found.async_start = reinterpret_cast<AsyncStart>(library_symbol("PMPIX_Async_start"));
    found.is_complete = reinterpret_cast<IsComplete>(library_symbol("PMPIX_Request_is_complete"));
    if (found.is_complete == nullptr) found.async_start = nullptr;
    return found;
  }();
  return known;
}

ProgressHook current{};
std::atomic<bool> hooked{false};
thread_local bool in_mpich_hook = false;

int poll_of_open_mpi() { return current.advance(); }

// It reports no progress of its own, because MPICH would then leave out its network in that round. Hooking again costs more than being called
// in vain for a while.
int poll_of_mpich(AsyncThing*) {
  static std::atomic<int> in_vain{0};
  if (current.needed()) {
    in_vain.store(0, std::memory_order_relaxed);
    in_mpich_hook = true;
    (void)current.advance();
    in_mpich_hook = false;
    return kNoProgress;
  }
  if (!current.over() && in_vain.fetch_add(1, std::memory_order_relaxed) < kMostInVain) return kNoProgress;
  in_vain.store(0, std::memory_order_relaxed);
  hooked.store(false, std::memory_order_release);
  return kDone;
}

}  // namespace

bool has_progress_hook() { return symbols().opal != nullptr || symbols().async_start != nullptr; }

bool hooked_into_mpich() { return symbols().async_start != nullptr; }

void hook_progress(const ProgressHook& hook) {
  if (hooked.load(std::memory_order_acquire)) return;
  if (hooked.exchange(true, std::memory_order_acq_rel)) return;
  current = hook;
  if (symbols().opal != nullptr) {
    (void)symbols().opal(poll_of_open_mpi);
  } else if (symbols().async_start != nullptr) {
    (void)symbols().async_start(poll_of_mpich, nullptr, kStreamNull);
  }
}

bool may_test_in_hook(const MPI_Request* requests, int count) {
  const IsComplete is_complete = symbols().is_complete;
  if (is_complete == nullptr) return true;
  return std::all_of(requests, requests + count, [&](MPI_Request one) { return one == handles().request_null || is_complete(one) != 0; });
}

bool may_make_progress() {
  int level = 0;
  return !in_mpich_hook || pmpi().Query_thread(&level) != MPI_SUCCESS || level != MPI_THREAD_MULTIPLE;
}

}  // namespace crossrail::mpi
