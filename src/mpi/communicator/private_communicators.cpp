#include "mpi/communicator/private_communicators.h"

#include <sched.h>

#include <atomic>
#include <list>
#include <mutex>
#include <set>

#include "base/settings.h"
#include "mpi/library/pmpi.h"
#include "mpi/observe/counters.h"

namespace crossrail::mpi {
namespace {

constexpr std::int64_t kMostFinalizeNs = 1'000'000'000;

struct Closing {
  std::unique_ptr<ErrorNotices> notices;
  bool begun = false;  // The barrier has begun.
  MPI_Request barrier = handles().request_null;
};

struct PrivateCommunicators {
  std::atomic<std::uint64_t> count{0};
  std::atomic<bool> any_closing{false};
  std::mutex mutex;
  std::list<Closing> closing;
  std::set<ErrorNotices*> open;
};
PrivateCommunicators& all() {
  static PrivateCommunicators& one = *new PrivateCommunicators;  // It outlives every static object.
  return one;
}

bool on_common(const ErrorNotices& one) { return one.space().box == CommonCommunicator::of_process().box(); }

// Returns true once it has been freed or is to stay.
bool close_further(Closing& one) {
  const bool all_sent = one.notices->drain();
  if (on_common(*one.notices)) {
    if (all_sent) one.notices.reset();
    return all_sent;
  }
  if (one.notices->messages_left()) {
    all().open.insert(one.notices.release());
    return true;
  }
  MPI_Comm comm = one.notices->space().box->comm();
  if (!one.begun) {
    if (!all_sent) return false;
    one.begun = true;
    if (pmpi().Ibarrier(comm, &one.barrier) != MPI_SUCCESS) one.barrier = handles().request_null;
  }
  int passed = 1;
  if (one.barrier != handles().request_null) (void)pmpi().Testall(1, &one.barrier, &passed, MPI_STATUSES_IGNORE);
  if (passed == 0) return false;
  one.notices->space().box->end();
  one.notices.reset();
  (void)pmpi().Comm_free(&comm);
  --all().count;
  return true;
}

}  // namespace

bool room_for_private_communicator() {
  close_private_communicators();
  return all().count.load() < process_settings().private_communicators;
}

void opened_messages(ErrorNotices& notices) {
  const std::lock_guard lock(all().mutex);
  all().open.insert(&notices);
  if (notices.space().numbers == 0) ++all().count;
}

void close_later(std::unique_ptr<ErrorNotices> notices) {
  const std::lock_guard lock(all().mutex);
  all().open.erase(notices.get());
  all().closing.push_back({std::move(notices)});
  all().any_closing = true;
}

void close_private_communicators() {
  PrivateCommunicators& ours = all();
  if (!ours.any_closing.load(std::memory_order_relaxed)) return;
  // Another thread or an outer call is already doing it.
  const std::unique_lock lock(ours.mutex, std::try_to_lock);
  if (!lock.owns_lock()) return;
  ours.closing.remove_if(close_further);
  ours.any_closing = !ours.closing.empty();
}

void close_before_finalize() {
  for (const std::int64_t began = now_ns(); now_ns() - began < kMostFinalizeNs; (void)sched_yield()) {
    close_private_communicators();
    const auto common = CommonCommunicator::of_process().box();
    if (common != nullptr) common->fetch();  // Other ranks may be waiting for this.
    bool drained = !all().any_closing.load();
    for (ErrorNotices* one : all().open) drained = one->drain() && drained;
    if (drained) return;
  }
}

}  // namespace crossrail::mpi
