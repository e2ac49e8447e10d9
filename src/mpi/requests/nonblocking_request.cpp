#include "mpi/requests/nonblocking_request.h"

#include <memory>
#include <mutex>
#include <vector>

#include "mpi/library/pmpi.h"
#include "mpi/library/polled_requests.h"
#include "mpi/requests/failures.h"

namespace crossrail::mpi {
namespace {

// Programs rarely have more calls than these under way at once; further requests are freed.
constexpr std::size_t kMostKept = 256;

std::mutex requests_mutex;
std::vector<LiveRequest*>& kept() {
  static auto& all = *new std::vector<LiveRequest*>;
  return all;
}

bool keep(LiveRequest& live) {
  const std::lock_guard lock(requests_mutex);
  if (kept().size() == kMostKept) return false;
  live.call.store(nullptr, std::memory_order_relaxed);
  kept().push_back(&live);
  return true;
}

LiveRequest* take_kept() {
  const std::lock_guard lock(requests_mutex);
  if (kept().empty()) return nullptr;
  LiveRequest* const taken = kept().back();
  kept().pop_back();
  return taken;
}

}  // namespace

struct NonblockingRequest::Functions {
  static NonblockingRequest* call_of(void* live) {
    return static_cast<NonblockingRequest*>(static_cast<LiveRequest*>(live)->call.load(std::memory_order_acquire));
  }
  static int query(void* live, MPI_Status* status) {
    NonblockingRequest* const call = call_of(live);
    if (call != nullptr) return tell_end(*call, status);
    fill_status(status, MPI_UNDEFINED, MPI_UNDEFINED);
    return MPI_SUCCESS;
  }
  static int free(void* live) {
    const std::unique_ptr<LiveRequest> its(static_cast<LiveRequest*>(live));
    NonblockingRequest* const call = call_of(live);
    forget_request(*its);
    if (call != nullptr && call->ways_left_.fetch_sub(1) == 1) delete call;
    return MPI_SUCCESS;
  }
  // MPI does not allow a collective to be cancelled.
  static int cancel(void*, int) { return MPI_ERR_REQUEST; }
  static int poll(void* live, MPI_Status*) {
    NonblockingRequest* const call = call_of(live);
    if (call != nullptr) poll_pending(*call);
    return MPI_SUCCESS;
  }
  static int wait(int count, void** all, double, MPI_Status*) {
    for (int one = 0; one < count; ++one) {
      NonblockingRequest* const call = call_of(all[one]);
      if (call != nullptr) await_completed(*call);
    }
    return MPI_SUCCESS;
  }
  static int make(LiveRequest*& made) {
    auto live = std::make_unique<LiveRequest>();
    const int code = start_request({query, free, cancel, poll, wait}, live.get(), &live->request);
    if (code != MPI_SUCCESS) return code;
    made = live.release();
    remember_request(*made);
    return MPI_SUCCESS;
  }
};

int NonblockingRequest::prepare_request() {
  live_ = take_kept();
  const int made = live_ != nullptr ? MPI_SUCCESS : Functions::make(live_);
  if (made == MPI_SUCCESS) request = live_->request;
  return made;
}

void NonblockingRequest::open(MPI_Request* its) {
  live_->call.store(this, std::memory_order_release);
  *its = request;
}

void NonblockingRequest::complete() {
  close();
  use.ended(*this);
  complete_natively();
}

void NonblockingRequest::complete_natively() {
  // This cannot happen later, because MPI may hold a lock that it takes here, too.
  if (moved()) use.release(code != Code::ok);
  // From here on MPI may free the request, even within Grequest_complete.
  const MPI_Request its = request;
  const bool made = live_ != nullptr;
  const bool last = !made || ways_left_.fetch_sub(1) == 1;
  if (made) (void)pmpi().Grequest_complete(its);
  if (last) delete this;
}

AfterWait NonblockingRequest::complete_in_wait() {
  close();
  use.ended(*this);
  if (code != Code::ok || !keep(*live_)) {
    complete_natively();
    return AfterWait::natively;
  }
  (void)use.code(*this);
  delete this;
  return AfterWait::here;
}

void free_kept_requests() {
  while (LiveRequest* const live = take_kept()) {
    MPI_Request its = live->request;
    (void)pmpi().Grequest_complete(its);
    (void)pmpi().Wait(&its, MPI_STATUS_IGNORE);
  }
}

}  // namespace crossrail::mpi
