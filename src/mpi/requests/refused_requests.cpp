#include "mpi/requests/refused_requests.h"

#include "mpi/communicator/communicators.h"
#include "mpi/communicator/raised_errors.h"
#include "mpi/library/library.h"
#include "mpi/library/pmpi.h"
#include "mpi/requests/copied_calls.h"
#include "mpi/requests/pending.h"
#include "mpi/requests/request_table.h"
#include "mpi/requests/startable.h"

namespace crossrail::mpi {
namespace {

constexpr int kMpichThatFrees = 5;
constexpr char kNonblocking[] = "the request of a nonblocking collective can be neither freed nor cancelled: it stays as it is, and must be waited for";
constexpr char kPersistent[] = "an active persistent collective cannot be cancelled: its request stays as it is, and must be waited for";

// Returns null if no request of ours can be at this address.
const MPI_Request* ours_at(Word64 address) {
  return any_requests() || any_copied_calls() ? reinterpret_cast<const MPI_Request*>(address) : nullptr;
}

bool is_active(MPI_Request request) {
  int over = 0;
  return pmpi().Request_get_status(request, &over, MPI_STATUS_IGNORE) == MPI_SUCCESS && over == 0;
}

// The request has been kept for a later call, and the program uses an old copy of the handle.
bool is_stale(const LiveRequest& live) { return live.call.load(std::memory_order_acquire) == nullptr; }

MPI_Comm handler_of(const LiveRequest* live) {
  const OurRequest* const call = live == nullptr ? nullptr : live->call.load(std::memory_order_acquire);
  return call == nullptr ? handles().comm_self : call->use.raises_on();
}

CallResult refuse(const char* function, const LiveRequest* live, const char* what) {
  CallResult refused;
  refused.done = true;
  refused.code = raise_of_class({function, handler_of(live)}, MPI_ERR_REQUEST, what);
  return refused;
}

}  // namespace

CallResult refuse_free(Word64 address) {
  const MPI_Request* const request = ours_at(address);
  if (request == nullptr || find_startable(*request) != nullptr) return {};
  const LiveRequest* const live = find_live_request(*request);
  const bool forbidden = live == nullptr ? is_copied_call_under_way(*request) : is_stale(*live) || (mpich_version() < kMpichThatFrees && is_active(*request));
  return forbidden ? refuse("MPI_Request_free", live, kNonblocking) : CallResult{};
}

CallResult refuse_cancel(Word64 address) {
  constexpr char kFunction[] = "MPI_Cancel";
  const MPI_Request* const request = ours_at(address);
  if (request == nullptr) return {};
  const LiveRequest* const live = find_live_request(*request);
  if (find_startable(*request) != nullptr) return is_active(*request) ? refuse(kFunction, live, kPersistent) : CallResult{};
  return live != nullptr || is_copied_call_under_way(*request) ? refuse(kFunction, live, kNonblocking) : CallResult{};
}

}  // namespace crossrail::mpi
