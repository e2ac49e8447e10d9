#include "mpi/requests/ended_calls.h"

#include <atomic>
#include <mutex>

namespace crossrail::mpi {
namespace {

std::mutex mutex;
RequestedCall* first = nullptr;  // guarded by the mutex, in the order of their ends
RequestedCall* last = nullptr;
std::atomic<bool> any{false};

RequestedCall* take_first() {
  const std::lock_guard lock(mutex);
  RequestedCall* const taken = first;
  if (taken != nullptr) first = taken->next_ended;
  any.store(first != nullptr, std::memory_order_relaxed);
  return taken;
}

}  // namespace

void keep_ended(PendingCall& call) {
  auto& ended = static_cast<RequestedCall&>(call);
  ended.next_ended = nullptr;
  const std::lock_guard lock(mutex);
  (first == nullptr ? first : last->next_ended) = &ended;
  last = &ended;
  any.store(true, std::memory_order_relaxed);
}

bool any_kept() { return any.load(std::memory_order_relaxed); }

void complete_ended() {
  if (!any_kept()) return;
  while (RequestedCall* const ended = take_first()) ended->complete(*ended);
}

}  // namespace crossrail::mpi
