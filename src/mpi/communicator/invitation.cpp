#include "mpi/communicator/invitation.h"

#include <sched.h>

#include <mutex>
#include <vector>

#include "mpi/library/pmpi.h"
#include "mpi/observe/counters.h"

namespace crossrail::mpi {
namespace {

using Invitations = std::vector<std::shared_ptr<Invitation>>;

std::mutex invitations_mutex;  // It protects the list.
Invitations& under_way() {
  static Invitations& all = *new Invitations;
  return all;
}
std::atomic<int> count{0};

// Only one thread looks at a time, and no thread waits for it. Testing a request may lead here again: when the last request on a freed communicator
// ends, MPI deletes its attributes.
std::atomic_flag looking;
thread_local bool this_thread_looks = false;

Invitations all_under_way() {
  const std::lock_guard lock(invitations_mutex);
  return under_way();
}

}  // namespace

std::shared_ptr<Invitation> Invitation::send(MPI_Comm comm, const Message& message) {
  auto sent = std::make_shared<Invitation>();
  sent->message_ = message;
  const int bytes = static_cast<int>(sizeof sent->message_);
  if (pmpi().Ibcast(&sent->message_, bytes, handles().byte, 0, comm, &sent->request_) != MPI_SUCCESS) return nullptr;
  const std::lock_guard lock(invitations_mutex);
  under_way().push_back(sent);
  count.fetch_add(1);
  return sent;
}

void Invitation::test() {
  int arrived = 0;
  MPI_Status status;
  if (pmpi().Testall(1, &request_, &arrived, &status) != MPI_SUCCESS) {
    message_.magic = kFailed;
  } else if (arrived == 0) {
    return;
  }
  {
    const std::lock_guard lock(invitations_mutex);
    std::erase_if(under_way(), [this](const auto& one) { return one.get() == this; });
  }
  count.fetch_sub(1);
  arrived_.store(true, std::memory_order_release);
}

void Invitation::look_at_all() {
  if (count.load(std::memory_order_relaxed) == 0 || looking.test_and_set(std::memory_order_acquire)) return;
  this_thread_looks = true;
  for (const auto& one : all_under_way()) {
    if (!one->arrived()) one->test();
  }
  this_thread_looks = false;
  looking.clear(std::memory_order_release);
}

void Invitation::end(std::int64_t most_ns) {
  const std::int64_t began = now_ns();
  while (!arrived() && !this_thread_looks && now_ns() - began < most_ns) {
    look_at_all();
    sched_yield();
  }
}

void Invitation::end_all() {
  const std::int64_t began = now_ns();
  for (const auto& one : all_under_way()) {
    if (now_ns() - began < kMostNs) one->end();
  }
}

}  // namespace crossrail::mpi
