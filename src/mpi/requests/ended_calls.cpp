#include "mpi/requests/ended_calls.h"

#include <atomic>
#include <mutex>

#include "mpi/requests/pending.h"

namespace crossrail::mpi {
namespace {

std::mutex ended_mutex;
OurRequest* first = nullptr;  // The mutex guards the list, which has the order in which calls ended.
OurRequest* last = nullptr;
std::atomic<bool> any{false};

OurRequest* take_first() {
  const std::lock_guard lock(ended_mutex);
  OurRequest* const taken = first;
  if (taken != nullptr) first = taken->next_ended;
  any.store(first != nullptr, std::memory_order_relaxed);
  return taken;
}

}  // namespace

void keep_ended(PendingCall& call) {
  auto& ended = static_cast<OurRequest&>(call);
  ended.next_ended = nullptr;
  const std::lock_guard lock(ended_mutex);
  (first == nullptr ? first : last->next_ended) = &ended;
  last = &ended;
  any.store(true, std::memory_order_relaxed);
}

bool any_kept() { return any.load(std::memory_order_relaxed); }

void complete_ended() {
  if (!any_kept()) return;
  while (OurRequest* const ended = take_first()) ended->complete();
}

}  // namespace crossrail::mpi
